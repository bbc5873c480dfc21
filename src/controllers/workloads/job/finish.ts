// Whether and why a Job has succeeded or failed.
import type { Job } from '../../../api/kinds/batch/job/schema.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { conditionOf } from '../conditions.ts';
import type { Counts } from './count.ts';
import { parseIndexes } from './indexes.ts';

export interface Finish {
  readonly isSuccess: boolean;
  readonly reason: string;
  readonly message: string;
}

interface Observed {
  readonly job: Job;
  readonly pods: readonly Pod[];
  readonly counts: Counts;
  readonly now: number;
}

/** The result of the Job; undefined: it is not finished. A result never changes. */
export function finishOf(observed: Observed): Finish | undefined {
  const { conditions } = observed.job.status;
  const failing = conditionOf(conditions, 'FailureTarget');
  if (failing?.status === 'True') return finish(false, failing.reason, failing.message);
  const succeeding = conditionOf(conditions, 'SuccessCriteriaMet');
  if (succeeding?.status === 'True') return finish(true, succeeding.reason, succeeding.message);
  return failureOf(observed) ?? successOf(observed);
}

const finish = (isSuccess: boolean, reason = '', message = ''): Finish => ({ isSuccess, reason, message });

function failureOf({ job, pods, counts, now }: Observed): Finish | undefined {
  const { spec, status } = job;
  const { backoffLimit = 6, maxFailedIndexes, activeDeadlineSeconds, completions = 0 } = spec;
  if (counts.policyFailure !== undefined) return finish(false, 'PodFailurePolicy', counts.policyFailure);
  if (counts.failed > backoffLimit || hasTooManyRestarts(job, pods)) {
    return finish(false, 'BackoffLimitExceeded', 'Job has reached the specified backoff limit');
  }
  const startedAt = Date.parse(String(status.startTime));
  if (activeDeadlineSeconds !== undefined && spec.suspend !== true && now >= startedAt + activeDeadlineSeconds * 1000) {
    return finish(false, 'DeadlineExceeded', 'Job was active longer than specified deadline');
  }
  if (spec.backoffLimitPerIndex === undefined) return undefined;
  const failed = counts.failedIndexes.size;
  if (maxFailedIndexes !== undefined && failed > maxFailedIndexes) {
    return finish(false, 'MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes');
  }
  return failed > 0 && failed + counts.completed.size >= completions
    ? finish(false, 'FailedIndexes', 'Job has failed indexes')
    : undefined;
}

/** Containers that are restarted in place count as retries as well. */
function hasTooManyRestarts({ spec }: Job, pods: readonly Pod[]): boolean {
  if (spec.template.spec.restartPolicy !== 'OnFailure') return false;
  let restarts = 0;
  for (const { status } of pods) {
    if (status.phase !== 'Running' && status.phase !== 'Pending') continue;
    for (const { restartCount } of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]) {
      restarts += restartCount;
    }
  }
  const limit = spec.backoffLimit ?? 6;
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

function successOf({ job, counts }: Observed): Finish | undefined {
  const { completions, suspend, successPolicy } = job.spec;
  for (const [index, { succeededIndexes, succeededCount }] of (successPolicy?.rules ?? []).entries()) {
    const listed = succeededIndexes === undefined ? undefined : parseIndexes(succeededIndexes);
    const met = [...counts.completed].filter((each) => listed === undefined || listed.has(each)).length;
    const needed = succeededCount ?? listed?.size ?? Infinity;
    if (met >= needed) return finish(true, 'SuccessPolicy', `Matched rules at index ${index}`);
  }
  const isComplete =
    completions === undefined
      ? counts.succeeded > 0 && counts.active.length === 0
      : counts.succeeded >= completions && (counts.active.length === 0 || completions > 0);
  if (!isComplete || (suspend === true && counts.succeeded === 0 && completions !== 0)) return undefined;
  return finish(true, 'CompletionsReached', 'Reached expected number of succeeded pods');
}
