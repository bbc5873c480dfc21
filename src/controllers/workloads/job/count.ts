// The Pods of a Job: which run, which ended, and which of these are counted.
import type { Job } from '../../../api/kinds/batch/job/schema.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { isActive, isReady, isStopping, isTerminating } from '../pods.ts';
import { maxPodsPerSync } from '../pod-writer.ts';
import { decideFailure } from './failure-policy.ts';
import { earlierFailures, indexOf, parseIndexes } from './indexes.ts';

/** Finalizer of Pods that are not counted yet. */
export const trackingFinalizer = 'batch.kubernetes.io/job-tracking';

export interface Observed {
  readonly job: Job;
  readonly pods: readonly Pod[];
  readonly now: number;
}

/** Whether a Pod is not counted yet. */
export const isTracked = ({ metadata }: Pod): boolean => metadata.finalizers?.includes(trackingFinalizer) === true;

/** The Pods of a Job by state, with those that ended before. */
export interface Counts {
  readonly active: readonly Pod[];
  readonly ready: number;
  readonly terminating: number;
  /** All that ended, counted or not. */
  readonly succeeded: number;
  readonly failed: number;
  /** Counters of the status, without the Pods that are not counted yet. */
  readonly counted: { readonly succeeded: number; readonly failed: number };
  /** UIDs of Pods that ended and whose finalizer is still set. */
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
  /** The Pods of `uncounted`, and those that need not be counted. */
  readonly release: readonly Pod[];
  readonly completed: ReadonlySet<number>;
  readonly failedIndexes: ReadonlySet<number>;
  /** Index → its failures, for limits per index. */
  readonly failuresByIndex: ReadonlyMap<number, number>;
  /** Why the failure policy fails the Job. */
  readonly policyFailure: string | undefined;
}

/** Whether a Pod counts as failed. A Pod that is being deleted does, unless the Job waits for its end. */
function hasFailed({ spec }: Job, pod: Pod): boolean {
  if (pod.status.phase === 'Failed') return true;
  return spec.podReplacementPolicy !== 'Failed' && isTerminating(pod) && pod.status.phase !== 'Succeeded';
}

/**
 * Counts Pods. One that ended moves in three writes: its UID into the status, its finalizer away, and the UID into the
 * counter. A crash between them repeats a step and counts nothing twice.
 */
export function countPods({ job, pods }: Observed): Counts {
  const { status, spec } = job;
  const { uncountedTerminatedPods: before = {} } = status;
  const tracked = new Map(pods.filter(isTracked).map((pod) => [pod.metadata.uid ?? '', pod]));
  const isIndexed = spec.completionMode === 'Indexed';
  const completed = parseIndexes(status.completedIndexes);
  const failedIndexes = parseIndexes(status.failedIndexes);
  const failuresByIndex = new Map<number, number>();
  const still = (uids: readonly string[] = []): string[] => uids.filter((uid) => tracked.has(uid));
  const [succeededUids, failedUids] = [still(before.succeeded), still(before.failed)];
  const gone = (uids: readonly string[] = []): number => uids.length - still(uids).length;
  // An indexed Job has counted successes by index, which cannot be counted twice.
  const countedSucceeded = (status.succeeded ?? 0) + (isIndexed ? 0 : gone(before.succeeded));
  const countedFailed = (status.failed ?? 0) + gone(before.failed);
  const listed = new Set([...succeededUids, ...failedUids]);
  let policyFailure: string | undefined;
  const ignored: Pod[] = [];
  for (const [uid, pod] of tracked) {
    const index = indexOf(pod);
    if (listed.has(uid) || succeededUids.length + failedUids.length >= maxPodsPerSync) continue;
    if (pod.status.phase === 'Succeeded') {
      if (isIndexed) {
        if (index !== undefined && index < (spec.completions ?? 0)) completed.add(index);
        ignored.push(pod);
      } else succeededUids.push(uid);
    } else if (hasFailed(job, pod)) {
      const decision = pod.status.phase === 'Failed' ? decideFailure(job, pod) : undefined;
      if (decision?.action === 'FailJob') policyFailure ??= decision.message;
      if (decision?.action === 'FailIndex' && index !== undefined) failedIndexes.add(index);
      if (decision?.action === 'Ignore') ignored.push(pod);
      else failedUids.push(uid);
      if (index !== undefined && decision?.action !== 'Ignore') {
        failuresByIndex.set(index, Math.max(failuresByIndex.get(index) ?? 0, earlierFailures(pod) + 1));
      }
    }
  }
  if (isIndexed) noteIndexFailures(job, pods, { failuresByIndex, failedIndexes });
  const active = pods.filter(isActive);
  return {
    active,
    ready: active.filter(isReady).length,
    terminating: pods.filter(isStopping).length,
    succeeded: isIndexed ? completed.size : countedSucceeded + succeededUids.length,
    failed: countedFailed + failedUids.length,
    counted: { succeeded: isIndexed ? completed.size : countedSucceeded, failed: countedFailed },
    uncounted: { succeeded: succeededUids, failed: failedUids },
    release: [...[...succeededUids, ...failedUids].flatMap((uid) => tracked.get(uid) ?? []), ...ignored],
    completed,
    failedIndexes,
    failuresByIndex,
    policyFailure,
  };
}

/** The failures of each index, from all Pods that still exist, and the indexes whose limit is reached. */
function noteIndexFailures(
  job: Job,
  pods: readonly Pod[],
  {
    failuresByIndex,
    failedIndexes,
  }: { readonly failuresByIndex: Map<number, number>; readonly failedIndexes: Set<number> },
): void {
  const limit = job.spec.backoffLimitPerIndex;
  for (const pod of pods) {
    const index = indexOf(pod);
    if (index === undefined || !hasFailed(job, pod)) continue;
    if (decideFailure(job, pod)?.action === 'Ignore') continue;
    failuresByIndex.set(index, Math.max(failuresByIndex.get(index) ?? 0, earlierFailures(pod) + 1));
  }
  if (limit === undefined) return;
  for (const [index, failures] of failuresByIndex) if (failures > limit) failedIndexes.add(index);
}
