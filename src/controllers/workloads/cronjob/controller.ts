import { messageOf } from '../../../api/error-message.ts';
import type { CronJob } from '../../../api/kinds/batch/cronjob/kind.ts';
import { cronJobKind } from '../../../api/kinds/batch/cronjob/kind.ts';
import { jobKind } from '../../../api/kinds/batch/job/kind.ts';
import type { Job } from '../../../api/kinds/batch/job/schema.ts';
import { systemClock } from '../../../client/clock.ts';
import { logRetry, runController } from '../../../client/controller.ts';
import { Expectations } from '../../../client/expectations.ts';
import { onKeyChange } from '../../../client/handlers.ts';
import type { Key } from '../../../client/key.ts';
import { nameOf } from '../../../client/key.ts';
import type { Outcome } from '../../../client/queue.ts';
import { WorkQueue } from '../../../client/queue.ts';
import { hasStatusCode } from '../../../client/transport.ts';
import type { ControllerContext } from '../../context.ts';
import { isNamespaceEnding } from '../../slice-writer.ts';
import { onDependentChange } from '../dependents.ts';
import { pendingMs } from '../pace.ts';
import { expecting } from '../pod-owner.ts';
import type { CronPlan } from './plan.ts';
import { planCronJob } from './plan.ts';

const component = 'cronjob-controller';

/** Runs the controller of CronJobs until the signal fires. */
export function runCronJobs(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { workloads, log, options } = context;
  const clock = options.clock ?? systemClock;
  const writes = new Expectations();
  const queue = new WorkQueue({
    async work(key: Key, stop: AbortSignal): Promise<Outcome> {
      const cron = workloads.cronJobs.get(key);
      if (cron === undefined) return writes.delete(key);
      if (writes.isPending(key)) return { requeueAfterMs: pendingMs };
      const jobs = workloads.jobs.by('controller', cron.metadata.uid ?? '');
      const plan = planCronJob({ cron, jobs, now: clock.now() });
      await expecting(writes, key, {
        run: () => write(context, { key, cron, plan, writes }, stop),
        retry: () => queue.add(key),
      });
      return plan.nextMs === undefined ? undefined : { requeueAfterMs: plan.nextMs };
    },
    onError: logRetry(log, component),
    observer: context.observer('cronjob'),
    clock,
  });
  const enqueue = (key: Key): void => queue.add(key);
  const subscribe = (): readonly (() => void)[] => [
    workloads.cronJobs.subscribe(onKeyChange(enqueue)),
    onDependentChange(workloads.jobs, {
      kind: cronJobKind,
      owners: workloads.cronJobs,
      adopts: () => false,
      writes,
      enqueue,
    }),
  ];
  return runController({ queue, caches: [workloads.cronJobs, workloads.jobs], subscribe }, signal);
}

interface Step {
  readonly key: Key;
  readonly cron: CronJob;
  readonly plan: CronPlan;
  readonly writes: Expectations;
}

async function write(
  context: ControllerContext,
  { key, cron, plan, writes }: Step,
  signal: AbortSignal,
): Promise<void> {
  const { client } = context;
  const recorder = context.recorder(component);
  for (const event of plan.events) recorder.record(cronJobKind, cron, event);
  for (const job of plan.remove) await remove(context, cron, job, signal);
  if (plan.create !== undefined) {
    try {
      const created = await client.create(jobKind, plan.create, { signal });
      writes.wrote(key, created, plan.create);
      const message = `Created job ${created.metadata.name}`;
      recorder.record(cronJobKind, cron, { type: 'Normal', reason: 'SuccessfulCreate', message });
    } catch (error) {
      if (isNamespaceEnding(error)) return;
      // An earlier run created it.
      if (!hasStatusCode(error, 409)) {
        const message = `Error creating job: ${messageOf(error)}`;
        recorder.record(cronJobKind, cron, { type: 'Warning', reason: 'FailedCreate', message });
        throw error;
      }
    }
  }
  if (plan.status === undefined) return;
  await client.updateStatus(cronJobKind, { ...cron, status: plan.status }, { signal, metadataOnly: true });
}

async function remove(context: ControllerContext, cron: CronJob, job: Job, signal: AbortSignal): Promise<void> {
  const { uid = '', name } = job.metadata;
  const options = { preconditions: { uid }, propagationPolicy: 'Background', signal } as const;
  await context.client.delete(jobKind, nameOf(job), options);
  const event = { type: 'Normal', reason: 'SuccessfulDelete', message: `Deleted job ${name}` } as const;
  context.recorder(component).record(cronJobKind, cron, event);
}
