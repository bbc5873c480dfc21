// The Ready, Status and Restarts columns of `kubectl get pods`.
import type { Container, ContainerStatus, Pod } from './schema.ts';

/** Ready and all containers, the status, and restarts with the time of the last one ('' if unknown). */
export interface PodSummary {
  readonly ready: number;
  readonly total: number;
  readonly status: string;
  readonly restarts: number;
  readonly lastRestart: string;
}

interface Progress {
  /** The status; undefined: unchanged. */
  readonly status: string | undefined;
  readonly ready: number;
  readonly restarts: number;
  readonly lastRestart: string;
}

/** Summarizes a Pod as Kubernetes does. */
export function summarize(pod: Pod): PodSummary {
  const { spec, status, metadata } = pod;
  const sidecars = (spec.initContainers ?? []).filter(isSidecar);
  const total = (spec.containers?.length ?? 0) + sidecars.length;
  const init = initProgress(pod, new Set(sidecars.map(({ name }) => name)));
  const isInitializing = init.status !== undefined && !hasCondition(pod, 'Initialized');
  const main = isInitializing ? undefined : mainProgress(pod, init.status ?? baseStatus(pod));

  let word = main?.status ?? init.status ?? baseStatus(pod);
  const isOver = status.phase === 'Succeeded' || status.phase === 'Failed';
  if (metadata.deletionTimestamp !== undefined) {
    if (status.reason === 'NodeLost') word = 'Unknown';
    else if (!isOver) word = 'Terminating';
  }
  const counted = main === undefined ? init.all : init.sidecars;
  return {
    ready: init.ready + (main?.ready ?? 0),
    total,
    status: word,
    restarts: counted.restarts + (main?.restarts ?? 0),
    lastRestart: later(counted.lastRestart, main?.lastRestart ?? ''),
  };
}

const isSidecar = ({ restartPolicy }: Container): boolean => restartPolicy === 'Always';

const hasCondition = ({ status }: Pod, type: string): boolean =>
  status.conditions?.find((condition) => condition.type === type)?.status === 'True';

function baseStatus({ status }: Pod): string {
  const isGated = status.conditions?.some(
    ({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated',
  );
  return isGated ? 'SchedulingGated' : (status.reason ?? status.phase ?? '');
}

interface Restarts {
  readonly restarts: number;
  readonly lastRestart: string;
}

const noRestarts: Restarts = { restarts: 0, lastRestart: '' };

const later = (a: string, b: string): string => (a > b ? a : b);

const withRestarts = ({ restarts, lastRestart }: Restarts, container: ContainerStatus): Restarts => ({
  restarts: restarts + container.restartCount,
  lastRestart: later(lastRestart, container.lastState.terminated?.finishedAt ?? ''),
});

interface InitProgress {
  /** The status of the first init container that has not completed. */
  readonly status: string | undefined;
  readonly ready: number;
  readonly all: Restarts;
  readonly sidecars: Restarts;
}

function initProgress({ spec, status }: Pod, sidecarNames: ReadonlySet<string>): InitProgress {
  let all = noRestarts;
  let sidecars = noRestarts;
  let ready = 0;
  for (const [index, container] of (status.initContainerStatuses ?? []).entries()) {
    const isSidecarStatus = sidecarNames.has(container.name);
    all = withRestarts(all, container);
    if (isSidecarStatus) sidecars = withRestarts(sidecars, container);
    if (container.state.terminated?.exitCode === 0) continue;
    if (isSidecarStatus && container.started) {
      if (container.ready) ready++;
      continue;
    }
    const word = initWord(container) ?? `${index}/${spec.initContainers?.length ?? 0}`;
    return { status: `Init:${word}`, ready, all, sidecars };
  }
  return { status: undefined, ready, all, sidecars };
}

function initWord({ state: { terminated, waiting } }: ContainerStatus): string | undefined {
  if (terminated !== undefined) return terminationWord(terminated);
  return waiting?.reason === 'PodInitializing' ? undefined : waiting?.reason;
}

type Terminated = NonNullable<ContainerStatus['state']['terminated']>;

function terminationWord({ reason, signal, exitCode }: Terminated): string {
  return reason ?? (signal ? `Signal:${signal}` : `ExitCode:${exitCode}`);
}

/** Iterates from the last container to the first: the first one with a reason determines the status. */
function mainProgress(pod: Pod, before: string): Progress {
  let status = before;
  let failure: string | undefined;
  let ready = 0;
  let counted = noRestarts;
  for (const container of [...(pod.status.containerStatuses ?? [])].reverse()) {
    const { waiting, terminated, running } = container.state;
    counted = withRestarts(counted, container);
    if (waiting?.reason !== undefined) status = waiting.reason;
    else if (terminated !== undefined) {
      status = terminationWord(terminated);
      if (terminated.exitCode !== 0) failure = status;
    } else if (container.ready && running !== undefined) ready++;
  }
  if (status === 'Completed') {
    if (ready > 0 && hasCondition(pod, 'Ready')) status = 'Running';
    else if (failure !== undefined) status = failure;
    else if (ready > 0) status = 'NotReady';
  }
  return { status, ready, ...counted };
}
