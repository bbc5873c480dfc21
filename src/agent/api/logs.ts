import type { ServerResponse } from 'node:http';

import type { ContainerStatus } from '../../api/kinds/core/pod/schema.ts';
import type { Runtime } from '../pods/runtime.ts';
import type { LogOptions } from './log-lines.ts';
import { readLog } from './log-reader.ts';
import type { PodRoute } from './route.ts';

/** The instance whose log a request reads, or why there is none, in the words of a kubelet. */
export function instanceOf(
  status: ContainerStatus | undefined,
  { container, pod, previous }: { readonly container: string; readonly pod: string; readonly previous: boolean },
): 'current' | 'previous' | { readonly problem: string } {
  const subject = `container ${JSON.stringify(container)} in pod ${JSON.stringify(pod)}`;
  if (status === undefined) return { problem: `${subject} is not available` };
  const last = status.lastState?.terminated;
  if (previous)
    return (last?.containerID ?? '') === '' ? { problem: `previous terminated ${subject} not found` } : 'previous';
  const { running, terminated, waiting } = status.state ?? {};
  if (running !== undefined) return 'current';
  if (terminated !== undefined) {
    if ((terminated.containerID ?? '') !== '') return 'current';
    return (last?.containerID ?? '') === '' ? { problem: `${subject} is terminated` } : 'previous';
  }
  // Between a crash and the next start, the log is that of the instance that has ended.
  if (last !== undefined) return (last.containerID ?? '') === '' ? { problem: `${subject} is terminated` } : 'previous';
  if (waiting === undefined) return { problem: `${subject} is waiting to start - no logs yet` };
  return { problem: `${subject} is waiting to start: ${waitingTexts[waiting.reason ?? ''] ?? waiting.reason ?? ''}` };
}

const waitingTexts: Readonly<Record<string, string>> = {
  ErrImagePull: "image can't be pulled",
  ImagePullBackOff: 'trying and failing to pull image',
};

/** A failure with the status code of its response. */
interface LogFailure {
  readonly status: number;
  readonly message: string;
}

/** Sends the log of a container; returns why there is none. */
export async function sendLog(
  runtime: Runtime,
  route: PodRoute,
  {
    options,
    response,
    signal,
  }: { readonly options: LogOptions; readonly response: ServerResponse; readonly signal: AbortSignal },
): Promise<LogFailure | undefined> {
  const { namespace, pod: podName, container: name } = route;
  const pod = runtime.find(namespace, podName);
  if (pod === undefined) return { status: 404, message: `pod ${JSON.stringify(podName)} does not exist` };
  const container = pod.containers.find((each) => each.name === name);
  if (container === undefined) {
    return { status: 404, message: `container ${JSON.stringify(name)} not found in pod ${JSON.stringify(podName)}` };
  }
  const instance = instanceOf(container.status, { container: name, pod: podName, previous: options.previous });
  if (typeof instance === 'object') return { status: 400, message: instance.problem };
  const { uid = '' } = pod.pod.metadata;
  const started = container.status?.containerID;
  const current = () => {
    const found = runtime.find(namespace, podName, uid)?.containers.find((each) => each.name === name);
    return found?.status?.containerID === started ? found : undefined;
  };
  const source = {
    // After a restart, what was the current instance is the previous one.
    files: () => (current() === undefined ? container.logFiles('previous') : container.logFiles(instance)),
    isLive: () => instance === 'current' && current()?.pid !== undefined,
  };
  response.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8' });
  response.flushHeaders(); // callers wait for them, also where there is no line yet
  for await (const piece of readLog(source, options, signal)) {
    if (!response.write(piece)) await drained(response, signal);
    if (signal.aborted) return undefined;
  }
  response.end();
  return undefined;
}

function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    response.on('drain', done);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}
