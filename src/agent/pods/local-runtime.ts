// The view of the agent's server on the Pods of this machine.
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import { execBeside } from '../processes/exec.ts';
import type { ProcessCalls } from '../processes/native.ts';
import type { Attachment, LocalContainer, LocalPod, Runtime } from './runtime.ts';
import type { PodWorker } from './worker.ts';

/** The Pods of these workers. */
export function localRuntime(workers: () => Iterable<PodWorker>, calls: ProcessCalls): Runtime {
  const pods = (): readonly LocalPod[] =>
    Array.from(workers()).flatMap((worker) => (worker.pod === undefined ? [] : [localPod(worker, worker.pod, calls)]));
  return {
    pods,
    find: (namespace, name, uid) =>
      pods()
        .filter(({ pod: { metadata } }) => metadata.namespace === namespace && metadata.name === name)
        // Of several with one name, the one that is not ending.
        .toSorted((a, b) => Number(isEnding(a)) - Number(isEnding(b)))
        .find(({ pod }) => uid === undefined || pod.metadata.uid === uid),
  };
}

const isEnding = ({ pod }: LocalPod): boolean => pod.metadata.deletionTimestamp !== undefined;

function localPod(worker: PodWorker, pod: Pod, calls: ProcessCalls): LocalPod {
  const { initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
  const { status } = pod;
  const statuses = [
    ...(status.initContainerStatuses ?? []),
    ...(status.containerStatuses ?? []),
    ...(status.ephemeralContainerStatuses ?? []),
  ];
  const all = [...initContainers, ...(containers ?? []), ...ephemeralContainers];
  return {
    pod,
    ip: worker.podIps[0] ?? '',
    cgroup: undefined,
    containers: all.map(({ name, stdinOnce = false, tty = false }): LocalContainer => {
      const own = worker.containers;
      return {
        name,
        status: statuses.find((each) => each.name === name),
        get pid() {
          return own.process(name)?.pid;
        },
        cgroup: undefined,
        logFiles: (instance) => own.logs(name, instance),
        async start(command, options) {
          const pid = own.process(name)?.pid;
          if (pid === undefined) throw new Error(`container ${name} is not running`);
          const started = await execBeside(calls, pid, command, options);
          own.track(name, started);
          return started;
        },
        attach: () => attachment(worker, name, { tty, stdinOnce }),
        get sessions() {
          return own.sessions(name);
        },
      };
    }),
  };
}

function attachment(
  { containers }: PodWorker,
  name: string,
  { tty, stdinOnce }: { readonly tty: boolean; readonly stdinOnce: boolean },
): Attachment | undefined {
  const process = containers.process(name);
  if (process === undefined) return undefined;
  const input = process.openInput();
  const unsubscribe: (() => void)[] = [];
  return {
    stdin: input,
    onOutput: (listener) => void unsubscribe.push(process.onOutput(listener)),
    tty,
    resize: (columns, rows) => process.resize(columns, rows),
    exited: process.exited.then(() => undefined),
    [Symbol.dispose]() {
      for (const end of unsubscribe) end();
      // The terminal stays open for other clients.
      if (!tty || stdinOnce) input?.destroy();
    },
  };
}
