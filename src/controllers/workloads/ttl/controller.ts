import { jobKind } from '../../../api/kinds/batch/job/kind.ts';
import type { Job } from '../../../api/kinds/batch/job/schema.ts';
import { systemClock } from '../../../client/clock.ts';
import { logRetry, runController } from '../../../client/controller.ts';
import type { Key } from '../../../client/key.ts';
import { keyOf, nameOf } from '../../../client/key.ts';
import type { Outcome } from '../../../client/queue.ts';
import { WorkQueue } from '../../../client/queue.ts';
import type { ControllerContext } from '../../context.ts';
import { endOf } from '../job/plan.ts';

/** Milliseconds until a Job is deleted; undefined: it has not ended, or stays. */
function untilExpiryMs({ metadata, spec, status }: Job, now: number): number | undefined {
  const { ttlSecondsAfterFinished: ttl } = spec;
  const end = endOf({ status });
  if (ttl === undefined || end === undefined || metadata.deletionTimestamp !== undefined) return undefined;
  const endedAt = Date.parse(String(end.lastTransitionTime));
  return Number.isNaN(endedAt) ? undefined : Math.max(0, endedAt + ttl * 1000 - now);
}

/** Deletes Jobs some time after their end until the signal fires. */
export function runTtlAfterFinished(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, workloads, log, options } = context;
  const clock = options.clock ?? systemClock;
  const queue = new WorkQueue({
    async work(key: Key, stop: AbortSignal): Promise<Outcome> {
      const job = workloads.jobs.get(key);
      const leftMs = job && untilExpiryMs(job, clock.now());
      if (job === undefined || leftMs === undefined) return;
      if (leftMs > 0) return { requeueAfterMs: leftMs };
      const { uid = '', resourceVersion = '' } = job.metadata;
      // With the revision, because a change of the Job could have extended its time.
      const preconditions = { uid, resourceVersion };
      await client.delete(jobKind, nameOf(job), { preconditions, propagationPolicy: 'Foreground', signal: stop });
    },
    onError: logRetry(log, 'ttl-after-finished-controller'),
    observer: context.observer('ttl_jobs_to_delete'),
    clock,
  });
  const check = (job: Job): void => {
    if (untilExpiryMs(job, clock.now()) !== undefined) queue.add(keyOf(job));
  };
  const subscribe = (): readonly (() => void)[] => [workloads.jobs.subscribe({ added: check, updated: check })];
  return runController({ queue, caches: [workloads.jobs], subscribe }, signal);
}
