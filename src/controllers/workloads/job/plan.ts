// What a Job does next: counts Pods that ended exactly once, replaces those that failed, and ends with a condition.
import { isDeepStrictEqual } from 'node:util';

import type { Job } from '../../../api/kinds/batch/job/schema.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { timestamp } from '../../../api/timestamp.ts';
import { conditionOf } from '../conditions.ts';
import { deletionOrder, isActive, isTerminating } from '../pods.ts';
import { maxPodsPerSync } from '../pod-writer.ts';
import type { Counts, Observed } from './count.ts';
import { countPods, isTracked } from './count.ts';
import type { Finish } from './finish.ts';
import { finishOf } from './finish.ts';
import { indexOf, printIndexes } from './indexes.ts';

/** A Pod to create; the index and its failures are those of an indexed Job. */
export interface NewPod {
  readonly index?: number;
  readonly failures?: number;
}

export interface JobPlan {
  readonly create: readonly NewPod[];
  readonly remove: readonly Pod[];
  /** Pods that lose the finalizer after the status is written. */
  readonly release: readonly Pod[];
  /** undefined: it has not changed. */
  readonly status: Job['status'] | undefined;
  /** The condition with which the Job has just ended. */
  readonly ended: Finish | undefined;
  /** When to look again. */
  readonly nextMs: number | undefined;
}

type Status = Job['status'];
type Condition = NonNullable<Status['conditions']>[number];

/** Whether the Job has ended. */
const isEnded = ({ status }: Pick<Job, 'status'>): boolean => endOf({ status }) !== undefined;

/** The condition with which a Job ended. */
export const endOf = ({ status }: Pick<Job, 'status'>): Condition | undefined =>
  status.conditions?.find(({ type, status: is }) => (type === 'Complete' || type === 'Failed') && is === 'True');

/** Plans the next step. */
export function planJob(observed: Observed): JobPlan {
  const { job, pods } = observed;
  if (isEnded(job) || job.metadata.deletionTimestamp !== undefined) {
    // Nothing is counted any more; the finalizers would keep Pods and namespaces forever.
    return { ...none, release: pods.filter(isTracked) };
  }
  const counts = countPods(observed);
  const suspension = withSuspension(observed);
  const finish = finishOf({ ...observed, job: { ...job, status: suspension }, counts });
  const isSuspended = job.spec.suspend === true;
  const changes =
    finish === undefined && !isSuspended ? replicas(observed, counts) : { ...removeAll(counts), nextMs: undefined };
  return withStatus(observed, { counts, suspension, finish, changes });
}

const none: JobPlan = { create: [], remove: [], release: [], status: undefined, ended: undefined, nextMs: undefined };

/** The status with the condition Suspended. */
function withSuspension({ job, now }: Observed): Status {
  const { status, spec } = job;
  const before = conditionOf(status.conditions, 'Suspended');
  const time = timestamp(now);
  const set = (is: 'True' | 'False', reason: string, message: string): readonly Condition[] => [
    ...(status.conditions ?? []).filter((each) => each !== before),
    { type: 'Suspended', status: is, lastProbeTime: time, lastTransitionTime: time, reason, message },
  ];
  if (spec.suspend === true) {
    if (before?.status === 'True') return status;
    const { startTime: _startTime, ...stopped } = status;
    return { ...stopped, conditions: set('True', 'JobSuspended', 'Job suspended') };
  }
  if (before?.status === 'True') {
    return { ...status, startTime: time, conditions: set('False', 'JobResumed', 'Job resumed') };
  }
  return status.startTime ? status : { ...status, startTime: time };
}

interface Changes {
  readonly create: readonly NewPod[];
  readonly remove: readonly Pod[];
  readonly nextMs: number | undefined;
}

const removeAll = ({ active }: Counts): Pick<Changes, 'create' | 'remove'> => ({
  create: [],
  remove: active.slice(0, maxPodsPerSync),
});

/** The Pods to create and delete, so that as many run as may and still have to. */
function replicas(observed: Observed, counts: Counts): Changes {
  const { job, pods, now } = observed;
  const { parallelism = 1, completions, completionMode, podReplacementPolicy } = job.spec;
  const isIndexed = completionMode === 'Indexed';
  const running = counts.active.length;
  const stopping = podReplacementPolicy === 'Failed' ? counts.terminating : 0;
  const missing = (completions ?? Infinity) - counts.succeeded - counts.failedIndexes.size;
  // A work queue without completions gets no new Pods after the first success.
  const wanted =
    completions === undefined ? (counts.succeeded > 0 ? running : parallelism) : Math.min(missing, parallelism);
  const surplus = surplusPods(counts, Math.max(0, wanted), now, isIndexed ? (completions ?? 0) : undefined);
  if (surplus.length > 0) return { create: [], remove: surplus.slice(0, maxPodsPerSync), nextMs: undefined };
  const count = Math.min(wanted - running - stopping, maxPodsPerSync);
  if (count <= 0) return { create: [], remove: [], nextMs: undefined };
  if (isIndexed) return newIndexes(observed, counts, count);
  const waitMs = delayOf(pods, now);
  if (waitMs > 0) return { create: [], remove: [], nextMs: waitMs };
  return { create: Array.from({ length: count }, () => ({})), remove: [], nextMs: undefined };
}

/** Active Pods above the wanted number, and those whose index another Pod has or that need not run. */
function surplusPods(
  { active, completed }: Counts,
  wanted: number,
  now: number,
  completions: number | undefined,
): readonly Pod[] {
  const surplus = new Set<Pod>();
  if (completions !== undefined) {
    const seen = new Set<number>();
    for (const pod of active) {
      const index = indexOf(pod);
      const isNeeded = index !== undefined && index < completions && !completed.has(index) && !seen.has(index);
      if (isNeeded) seen.add(index);
      else surplus.add(pod);
    }
  }
  const rest = active.filter((pod) => !surplus.has(pod));
  for (const pod of deletionOrder(rest, new Map(), now).slice(0, Math.max(0, rest.length - wanted))) surplus.add(pod);
  return [...surplus];
}

/** The lowest indexes that neither ended nor run, as far as their delay has passed. */
function newIndexes({ job, pods, now }: Observed, counts: Counts, count: number): Changes {
  const { completions = 0, backoffLimitPerIndex, podReplacementPolicy } = job.spec;
  const isOnlyAfterEnd = podReplacementPolicy === 'Failed';
  const used = new Set(
    pods
      .filter(
        (pod) =>
          isActive(pod) ||
          (isOnlyAfterEnd && isTerminating(pod) && pod.status.phase !== 'Failed' && pod.status.phase !== 'Succeeded'),
      )
      .map(indexOf),
  );
  const create: NewPod[] = [];
  let nextMs = Infinity;
  const globalWaitMs = backoffLimitPerIndex === undefined ? delayOf(pods, now) : 0;
  if (globalWaitMs > 0) return { create, remove: [], nextMs: globalWaitMs };
  for (let index = 0; index < completions && create.length < count; index++) {
    if (used.has(index) || counts.completed.has(index) || counts.failedIndexes.has(index)) continue;
    const ofIndex = pods.filter((pod) => indexOf(pod) === index);
    const waitMs = backoffLimitPerIndex === undefined ? 0 : delayOf(ofIndex, now);
    if (waitMs > 0) nextMs = Math.min(nextMs, waitMs);
    else if (backoffLimitPerIndex === undefined) create.push({ index });
    else create.push({ index, failures: counts.failuresByIndex.get(index) ?? 0 });
  }
  return { create, remove: [], nextMs: nextMs === Infinity ? undefined : nextMs };
}

const backoff = { firstMs: 10_000, mostMs: 600_000 };

/** How long a new Pod waits after failures since the last success. */
function delayOf(pods: readonly Pod[], now: number): number {
  const ended = pods
    .filter(({ status }) => status.phase === 'Succeeded' || status.phase === 'Failed')
    .map((pod) => ({ at: endTimeOf(pod), hasFailed: pod.status.phase === 'Failed' }))
    .toSorted((left, right) => right.at - left.at);
  const failures = ended.findIndex((each) => !each.hasFailed);
  const count = failures === -1 ? ended.length : failures;
  const [last] = ended;
  if (count === 0 || last === undefined) return 0;
  return Math.max(0, last.at + Math.min(backoff.mostMs, backoff.firstMs * 2 ** Math.min(count - 1, 20)) - now);
}

/** When the last container of a Pod ended; without one, when the Pod was last not ready, deleted or created. */
function endTimeOf({ metadata, status }: Pod): number {
  const times = (status.containerStatuses ?? []).map(({ state }) => Date.parse(String(state.terminated?.finishedAt)));
  const known = times.filter((time) => !Number.isNaN(time));
  if (known.length > 0) return Math.max(...known);
  const unready = Date.parse(String(conditionOf(status.conditions, 'Ready')?.lastTransitionTime));
  if (!Number.isNaN(unready)) return unready;
  const deleted = Date.parse(String(metadata.deletionTimestamp));
  return Number.isNaN(deleted) ? Date.parse(metadata.creationTimestamp ?? '') : deleted;
}

interface Decision {
  readonly counts: Counts;
  readonly suspension: Status;
  readonly finish: Finish | undefined;
  readonly changes: Changes;
}

function withStatus({ job, now }: Observed, { counts, suspension, finish, changes }: Decision): JobPlan {
  const time = timestamp(now);
  const { uncounted } = counts;
  const isCounted = uncounted.succeeded.length + uncounted.failed.length === 0;
  const isQuiet = counts.active.length === 0 && counts.terminating === 0 && isCounted;
  const conditions: Condition[] = [...(suspension.conditions ?? [])];
  const add = (type: string): void => {
    if (finish === undefined || conditionOf(conditions, type) !== undefined) return;
    const { reason, message } = finish;
    conditions.push({ type, status: 'True', lastProbeTime: time, lastTransitionTime: time, reason, message });
  };
  const ended = finish !== undefined && isQuiet ? finish : undefined;
  if (finish !== undefined) add(finish.isSuccess ? 'SuccessCriteriaMet' : 'FailureTarget');
  if (ended !== undefined) add(ended.isSuccess ? 'Complete' : 'Failed');
  const status: Status = {
    ...(conditions.length === 0 ? {} : { conditions }),
    ...(suspension.startTime ? { startTime: suspension.startTime } : {}),
    ...(ended?.isSuccess === true ? { completionTime: time } : {}),
    ...count('active', counts.active.length),
    ...count('succeeded', counts.counted.succeeded),
    ...count('failed', counts.counted.failed),
    terminating: counts.terminating,
    ...(counts.completed.size === 0 ? {} : { completedIndexes: printIndexes(counts.completed) }),
    ...(job.spec.backoffLimitPerIndex === undefined ? {} : { failedIndexes: printIndexes(counts.failedIndexes) }),
    uncountedTerminatedPods: {
      ...(uncounted.succeeded.length === 0 ? {} : { succeeded: uncounted.succeeded }),
      ...(uncounted.failed.length === 0 ? {} : { failed: uncounted.failed }),
    },
    ready: counts.ready,
  };
  const untilDeadline = untilDeadlineMs(job, status, now);
  return {
    create: changes.create,
    remove: changes.remove,
    release: counts.release,
    status: isDeepStrictEqual(status, job.status) ? undefined : status,
    ended,
    nextMs: changes.nextMs ?? untilDeadline,
  };
}

/** When the Job's deadline passes. */
function untilDeadlineMs({ spec }: Job, { startTime }: Status, now: number): number | undefined {
  const { activeDeadlineSeconds, suspend } = spec;
  if (activeDeadlineSeconds === undefined || suspend === true || !startTime) return undefined;
  return Math.max(0, Date.parse(startTime) + activeDeadlineSeconds * 1000 - now);
}

const count = (name: 'active' | 'succeeded' | 'failed', value: number): object =>
  value === 0 ? {} : { [name]: value };
