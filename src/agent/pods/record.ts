// What the agent remembers about the containers of a Pod. It is written to disk, so that another agent can adopt the processes.
import type { ProcessId } from '../processes/identity.ts';
import type { ContainerStatus, Pod } from '../../api/kinds/core/pod/schema.ts';

/** How an instance ended. */
export interface Ending {
  readonly exitCode: number;
  /** The signal that ended it. */
  readonly signal?: number;
  readonly reason: string;
  readonly message?: string;
  /** Milliseconds since 1970. */
  readonly finishedAt: number;
}

/** One run of a container. */
export interface Instance {
  /** 32 hexadecimal digits; processes carry it in their environment. */
  readonly id: string;
  /** 0: it could not be started. */
  readonly pid: number;
  /** Distinguishes the process from a later one with the same ID: see `ProcessIdentity`. */
  readonly identity: string;
  readonly startedAt: number;
  /** The number in the names of its files. */
  readonly attempt: number;
  readonly imageId: string;
  /** Whether the startup probe succeeded, or there is none, and postStart has run. */
  readonly isStarted: boolean;
  /** Whether the readiness probe succeeds, or there is none. */
  readonly isReady: boolean;
  /** Whether its postStart hook is running. */
  readonly isStarting?: boolean;
  /** Whether its log is its termination message if it leaves none. */
  readonly usesLogMessage?: boolean;
  readonly ended?: Ending;
}

/** The delay before the next restart. */
export interface Backoff {
  readonly ms: number;
  readonly updatedAt: number;
}

/** Why a container could not be started, and when to try again. */
export interface StartProblem {
  readonly reason: string;
  readonly message: string;
  readonly retryAt: number;
  readonly failures: number;
}

export interface ContainerRecord {
  readonly restartCount: number;
  readonly current?: Instance;
  /** The instance before it, which has ended. */
  readonly previous?: Instance;
  readonly backoff?: Backoff;
  readonly problem?: StartProblem;
}

/** A Pod that this machine accepted. */
export interface PodRecord {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** When the machine accepted it. */
  readonly startedAt: number;
  /** Its address; undefined: that of the machine, or none yet. */
  readonly ip?: string;
  /** What keeps its namespaces. */
  readonly sandbox?: ProcessId;
  /** Why the Pod as a whole failed. */
  readonly failure?: { readonly reason: string; readonly message: string };
  /** Container → its record. */
  readonly containers: Readonly<Record<string, ContainerRecord>>;
}

/** A container that never ran. */
const noRuns: ContainerRecord = { restartCount: 0 };

/** The record of a container. */
export const recordOf = ({ containers }: Pick<PodRecord, 'containers'>, name: string): ContainerRecord =>
  containers[name] ?? noRuns;

/** Whether a process of the container runs. */
export const isRunning = ({ current }: ContainerRecord): boolean =>
  current !== undefined && current.ended === undefined;

/** The record of a Pod that this machine accepts now. Restarts that its status counts, written by an agent whose state is lost, count on. */
export function newRecord({ metadata, status }: Pod, now: number): PodRecord {
  const { uid = '', namespace = '', name = '' } = metadata;
  const startedAt = status.startTime === undefined ? now : Date.parse(status.startTime);
  const known = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const containers = known.flatMap((each): [string, ContainerRecord][] => {
    const { running, terminated } = each.state;
    const last = terminated ?? each.lastState.terminated;
    if (running === undefined && last === undefined) return [];
    return [[each.name, { restartCount: each.restartCount, current: instanceOf(each, now) }]];
  });
  return { uid, namespace, name, startedAt, containers: Object.fromEntries(containers) };
}

/** The last run of a container, as its status reports it. One that was running is lost. */
function instanceOf({ state, lastState, containerID = '', restartCount }: ContainerStatus, now: number): Instance {
  const { running } = state;
  const ended = running === undefined ? (state.terminated ?? lastState.terminated) : undefined;
  return {
    id: containerID.replace(/^\w+:\/\//, ''),
    pid: 0,
    identity: '',
    startedAt: Date.parse(ended?.startedAt ?? running?.startedAt ?? '') || now,
    attempt: restartCount,
    imageId: '',
    isStarted: false,
    isReady: false,
    ended:
      ended === undefined
        ? { exitCode: 137, reason: 'ContainerStatusUnknown', message: lostMessage, finishedAt: now }
        : {
            exitCode: ended.exitCode,
            reason: ended.reason ?? 'Error',
            finishedAt: Date.parse(ended.finishedAt ?? '') || now,
          },
  };
}

/** The message of a process that ended while nobody saw it. */
export const lostMessage = 'The container could not be located when the agent looked for it';
