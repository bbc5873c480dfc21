import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { jobKind } from '../../../api/kinds/batch/job/kind.ts';
import type { Job } from '../../../api/kinds/batch/job/schema.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { until } from '../../../server/testing/until.ts';
import type { Workloads } from '../testing/workloads.ts';
import { namespace, startWorkloads, templateOf } from '../testing/workloads.ts';
import { indexOf } from './indexes.ts';

const name = { namespace, name: 'task' };
const template = templateOf('task', 'task:1', { restartPolicy: 'Never' });

const jobOf = (spec: object = {}): Job =>
  // A cast because the server sets the other fields.
  ({ metadata: name, spec: { template, ...spec } }) as unknown as Job;

const get = ({ user }: Workloads): Promise<Job> => user.get(jobKind, name);
const conditionsOf = ({ status }: Job): string =>
  (status.conditions ?? []).map(({ type, reason }) => `${type} ${reason}`).join();
const ended = (workloads: Workloads, type: string): Promise<unknown> =>
  until(`the Job is ${type}`, async () => conditionsOf(await get(workloads)).includes(type));

suite('Jobs', () => {
  test('completions are counted once, and the Pods lose their finalizer', async () => {
    await using workloads = await startWorkloads({ fate: () => 'succeed' });
    await workloads.user.create(jobKind, jobOf({ completions: 5, parallelism: 2 }));
    await ended(workloads, 'Complete');
    const job = await get(workloads);
    assert.equal(conditionsOf(job), 'SuccessCriteriaMet CompletionsReached,Complete CompletionsReached');
    assert.deepEqual([job.status.succeeded, job.status.failed, job.status.active], [5, undefined, undefined]);
    assert.ok(job.status.startTime && job.status.completionTime);
    const pods = await workloads.pods('app=task');
    assert.equal(pods.length, 5);
    assert.ok(pods.every(({ metadata }) => metadata.finalizers === undefined));
    await until('the Event', async () => (await workloads.reasons('Job')).includes('Completed'));
  });

  test('a Job without retries fails with its first Pod', async () => {
    await using workloads = await startWorkloads({ fate: () => 'fail' });
    await workloads.user.create(jobKind, jobOf({ backoffLimit: 0 }));
    await ended(workloads, 'Failed');
    const job = await get(workloads);
    assert.equal(conditionsOf(job), 'FailureTarget BackoffLimitExceeded,Failed BackoffLimitExceeded');
    assert.equal(job.status.failed, 1);
  });

  test('an indexed Job runs each index until it succeeds', async () => {
    await using workloads = await startWorkloads({ fate: () => 'succeed' });
    await workloads.user.create(jobKind, jobOf({ completions: 3, parallelism: 3, completionMode: 'Indexed' }));
    await ended(workloads, 'Complete');
    const { status } = await get(workloads);
    assert.deepEqual([status.completedIndexes, status.succeeded], ['0-2', 3]);
    const pods = await workloads.pods('app=task');
    assert.deepEqual(new Set(pods.map(indexOf)), new Set([0, 1, 2]));
    for (const pod of pods) {
      assert.match(pod.metadata.name ?? '', new RegExp(`^task-${indexOf(pod)}-[a-z0-9]{5}$`));
      assert.equal(pod.spec.hostname, `task-${indexOf(pod)}`);
      assert.equal(pod.spec.containers?.[0]?.env?.[0]?.name, 'JOB_COMPLETION_INDEX');
    }
  });

  test('limits per index let other indexes succeed', async () => {
    const fate = (pod: Pod): 'fail' | 'succeed' => (indexOf(pod) === 1 ? 'fail' : 'succeed');
    await using workloads = await startWorkloads({ fate });
    const spec = { completions: 3, parallelism: 3, completionMode: 'Indexed', backoffLimitPerIndex: 0 };
    await workloads.user.create(jobKind, jobOf(spec));
    await ended(workloads, 'Failed');
    const { status } = await get(workloads);
    assert.deepEqual([status.completedIndexes, status.failedIndexes], ['0,2', '1']);
    assert.match(conditionsOf(await get(workloads)), /FailedIndexes/);
  });

  test('a suspended Job has no Pods, and starts when it is resumed', async () => {
    await using workloads = await startWorkloads();
    await workloads.user.create(jobKind, jobOf({ suspend: true }));
    await ended(workloads, 'Suspended');
    assert.equal((await workloads.pods('app=task')).length, 0);
    await workloads.user.patch(jobKind, name, { body: { spec: { suspend: false } } });
    await until('a Pod is ready', async () => (await get(workloads)).status.ready === 1);
    await workloads.user.patch(jobKind, name, { body: { spec: { suspend: true } } });
    await until('no Pods', async () =>
      (await workloads.pods('app=task')).every(({ status }) => status.phase !== 'Running'),
    );
  });

  test('a deadline ends the Job and its Pods', async () => {
    await using workloads = await startWorkloads();
    await workloads.user.create(jobKind, jobOf({ activeDeadlineSeconds: 1 }));
    await ended(workloads, 'Failed');
    assert.match(conditionsOf(await get(workloads)), /Failed DeadlineExceeded/);
  });

  test('the failure policy fails the Job at once', async () => {
    await using workloads = await startWorkloads({ fate: () => 'fail' });
    const podFailurePolicy = { rules: [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [1] } }] };
    await workloads.user.create(jobKind, jobOf({ podFailurePolicy }));
    await ended(workloads, 'Failed');
    const { status } = await get(workloads);
    assert.match(
      status.conditions?.at(-1)?.message ?? '',
      /^Container c for pod default\/task-\w+ failed with exit code 1 matching FailJob rule at index 0$/,
    );
  });

  test('a Job that has ended is deleted after its time, with its Pods', async () => {
    await using workloads = await startWorkloads({ fate: () => 'succeed' });
    await workloads.user.create(jobKind, jobOf({ ttlSecondsAfterFinished: 0 }));
    await until('the Job is gone', async () => (await workloads.user.find(jobKind, name)) === undefined);
    await until('its Pods are gone', async () => (await workloads.pods('app=task')).length === 0);
  });

  test('Pods of a deleted Job do not keep their finalizer', async () => {
    await using workloads = await startWorkloads();
    await workloads.user.create(jobKind, jobOf());
    await until('a Pod is ready', async () => (await get(workloads)).status.ready === 1);
    await workloads.user.delete(jobKind, name, { propagationPolicy: 'Orphan' });
    await until('no finalizer', async () =>
      (await workloads.pods('app=task')).every(({ metadata }) => metadata.finalizers === undefined),
    );
  });
});
