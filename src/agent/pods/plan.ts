// What to do next for one Pod: which containers to start and to stop, and when to look again. No clock, no I/O.
import type { Container, Pod } from '../../api/kinds/core/pod/schema.ts';
import { restartAt } from './backoff.ts';
import type { ContainerRecord, PodRecord } from './record.ts';
import { isRunning, recordOf } from './record.ts';

/** A Pod and the state of its processes. */
export interface ObservedPod {
  readonly pod: Pod;
  readonly record: PodRecord;
  /** Whether its address and its volumes exist. */
  readonly isSetUp: boolean;
  /** Whether its object was deleted without waiting for the processes. */
  readonly isGone: boolean;
  /** When its processes were asked to stop first; undefined: they were not. */
  readonly endingSince: number | undefined;
  /** Container → when it is killed, if it is being stopped. */
  readonly stopping: ReadonlyMap<string, number>;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** A container to stop. */
export interface Stop {
  readonly container: string;
  /** Seconds from now until it is killed. */
  readonly graceSeconds: number;
}

export interface PodPlan {
  readonly start: readonly string[];
  readonly stop: readonly Stop[];
  /** The Pod as a whole fails now. */
  readonly failure?: { readonly reason: string; readonly message: string };
  /** Whether no process runs and none will be started. */
  readonly isOver: boolean;
  /** When something is due, in milliseconds since 1970. */
  readonly wakeAt: number | undefined;
}

/** A container that the kubelet restarts even as an init container. */
export const isSidecar = ({ restartPolicy }: Pick<Container, 'restartPolicy'>): boolean => restartPolicy === 'Always';

/** Grace for Pods whose objects are gone. */
const goneGraceSeconds = 1;
/** What a container has at least after others used up the grace period. */
const leastGraceSeconds = 2;

export function planPod(observed: ObservedPod): PodPlan {
  const { pod, record, isGone } = observed;
  const deadline = deadlineOf(observed);
  if (deadline !== undefined && deadline <= observed.now) {
    const failure = {
      reason: 'DeadlineExceeded',
      message: 'Pod was active on the node longer than the specified deadline',
    };
    return { ...planEnd(observed), failure };
  }
  const isEnding = isGone || pod.metadata.deletionTimestamp !== undefined;
  if (isEnding || record.failure !== undefined || hasEnded(pod)) return planEnd(observed);
  if (!observed.isSetUp) return { start: [], stop: [], isOver: false, wakeAt: deadline };
  const plan = planRun(observed);
  return { ...plan, wakeAt: earliest(plan.wakeAt, deadline) };
}

/** A phase that the Pod cannot leave. */
export const hasEnded = ({ status }: Pod): boolean => status.phase === 'Succeeded' || status.phase === 'Failed';

function deadlineOf({ pod, record }: ObservedPod): number | undefined {
  const { activeDeadlineSeconds } = pod.spec;
  if (activeDeadlineSeconds === undefined || record.failure !== undefined || hasEnded(pod)) return undefined;
  return record.startedAt + activeDeadlineSeconds * 1000;
}

const earliest = (...times: readonly (number | undefined)[]): number | undefined => {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
};

/** Starts what is due: init containers one after the other, then the regular containers. */
function planRun(observed: ObservedPod): PodPlan {
  const { pod, record, now } = observed;
  const { initContainers = [], containers } = pod.spec;
  const start: string[] = [];
  let wakeAt: number | undefined;
  /** Starts a container now or later; false: it has ended for good. */
  const consider = (container: Container): boolean => {
    const own = recordOf(record, container.name);
    if (isRunning(own)) return true;
    const due = startAt(container, pod, own);
    if (due === undefined) return false;
    if (due <= now) start.push(container.name);
    else wakeAt = earliest(wakeAt, due);
    return true;
  };

  if (!hasInitialized(pod, record)) {
    for (const container of initContainers) {
      const own = recordOf(record, container.name);
      if (!isSidecar(container) && own.current?.ended?.exitCode === 0) continue;
      // An init container that failed for good ends the Pod.
      if (!consider(container)) return { ...planEnd(observed), start: [] };
      const isUp = isSidecar(container) && isRunning(own) && own.current?.isStarted === true;
      if (!isUp) return { start, stop: [], isOver: false, wakeAt };
    }
  } else {
    for (const sidecar of initContainers.filter(isSidecar)) consider(sidecar);
  }
  const regular = (containers ?? []).map(consider);
  return regular.some(Boolean) ? { start, stop: [], isOver: false, wakeAt } : planEnd(observed);
}

/** Whether the init containers are done: a regular container ran once, or all of them have succeeded. */
export function hasInitialized({ spec: { initContainers = [], containers } }: Pod, record: PodRecord): boolean {
  if ((containers ?? []).some(({ name }) => recordOf(record, name).current !== undefined)) return true;
  return initContainers.every((container) => {
    const { current } = recordOf(record, container.name);
    if (isSidecar(container)) return current?.ended === undefined && current?.isStarted === true;
    return current?.ended?.exitCode === 0;
  });
}

/** When a container that does not run is due; undefined: it has ended for good. */
function startAt(container: Container, pod: Pod, record: ContainerRecord): number | undefined {
  if (record.current === undefined) return record.problem?.retryAt ?? 0;
  if (!mayRestart(container, pod, record.current.ended?.exitCode)) return undefined;
  return Math.max(restartAt(record), record.problem?.retryAt ?? 0);
}

type Restartable = Pick<Container, 'name' | 'restartPolicy' | 'restartPolicyRules'>;

/** Whether a container that ended with this code is restarted. */
export function mayRestart(container: Restartable, { spec }: Pod, exitCode = 0): boolean {
  const isInit = spec.initContainers?.some(({ name }) => name === container.name) ?? false;
  for (const { action, exitCodes } of container.restartPolicyRules ?? []) {
    const isListed = exitCodes?.values?.includes(exitCode) ?? false;
    if (action === 'Restart' && (exitCodes?.operator === 'NotIn' ? !isListed : isListed)) return true;
  }
  const policy = container.restartPolicy ?? spec.restartPolicy ?? 'Always';
  if (isInit && !isSidecar(container)) return exitCode !== 0 && policy !== 'Never';
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
}

/** Stops everything: regular and init containers at once, then the sidecars from the last to the first. */
function planEnd(observed: ObservedPod): PodPlan {
  const { pod, record, stopping, now } = observed;
  const { initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
  const running = ({ name }: { readonly name: string }): boolean => isRunning(recordOf(record, name));
  const others = [...initContainers.filter((each) => !isSidecar(each)), ...(containers ?? []), ...ephemeralContainers];
  const first = others.filter(running);
  const last = initContainers.filter(isSidecar).filter(running).at(-1);
  const due = first.length > 0 || last === undefined ? first : [last];
  const graceSeconds = graceOf(observed);
  const stop = due
    .filter(({ name }) => {
      const killAt = stopping.get(name);
      return killAt === undefined || killAt > now + graceSeconds * 1000 + 1000; // a later request may shorten the period
    })
    .map(({ name }): Stop => ({ container: name, graceSeconds }));
  return { start: [], stop, isOver: due.length === 0, wakeAt: undefined };
}

function graceOf({ pod, isGone, endingSince, now }: ObservedPod): number {
  if (isGone) return goneGraceSeconds;
  const { deletionGracePeriodSeconds } = pod.metadata;
  const whole = deletionGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30;
  const used = endingSince === undefined ? 0 : (now - endingSince) / 1000;
  return Math.max(whole - used, Math.min(whole, leastGraceSeconds));
}
