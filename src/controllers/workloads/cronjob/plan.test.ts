import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { CronJob } from '../../../api/kinds/batch/cronjob/kind.ts';
import type { Job } from '../../../api/kinds/batch/job/schema.ts';
import type { CronPlan } from './plan.ts';
import { planCronJob } from './plan.ts';

const cronOf = (spec: object = {}, status: object = {}): CronJob =>
  // Only the fields that the plan reads.
  ({
    metadata: { namespace: 'shop', name: 'tidy', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: {
      schedule: '*/10 * * * *',
      concurrencyPolicy: 'Allow',
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
      jobTemplate: { metadata: { labels: { app: 'tidy' } }, spec: {} },
      ...spec,
    },
    status,
  }) as unknown as CronJob;

const jobOf = (name: string, end?: 'Complete' | 'Failed', at = '2026-01-01T00:00:00Z'): Job =>
  // Only the fields that the plan reads.
  ({
    metadata: { namespace: 'shop', name, uid: `uid of ${name}`, resourceVersion: '7', creationTimestamp: at },
    spec: {},
    status: {
      startTime: at,
      ...(end === undefined ? {} : { conditions: [{ type: end, status: 'True' }] }),
      ...(end === 'Complete' ? { completionTime: at } : {}),
    },
  }) as unknown as Job;

const active = (name: string): object => ({
  kind: 'Job',
  namespace: 'shop',
  name,
  uid: `uid of ${name}`,
  apiVersion: 'batch/v1',
  resourceVersion: '7',
});

function outcome({ create, remove, status, events, nextMs }: CronPlan): object {
  return {
    ...(create === undefined ? {} : { create: create.metadata.name }),
    ...(remove.length === 0 ? {} : { remove: remove.map(({ metadata }) => metadata.name) }),
    ...(status === undefined ? {} : { status }),
    ...(events.length === 0 ? {} : { events: events.map(({ reason }) => reason) }),
    ...(nextMs === undefined ? {} : { nextMs }),
  };
}

const minutes = (count: number): number => Date.parse('2026-01-01T00:00:00Z') + count * 60_000;
const numberOf = (count: number): number => minutes(count) / 60_000;

suite('CronJobs', () => {
  const cases: readonly {
    readonly name: string;
    readonly cron: CronJob;
    readonly jobs?: readonly Job[];
    readonly at: number;
    readonly want: object;
  }[] = [
    { name: 'wait for the next time', cron: cronOf(), at: 9, want: { nextMs: 60_100 } },
    {
      name: 'report a schedule that is never due',
      cron: cronOf({ schedule: '59 23 31 2 *' }),
      at: 9,
      want: { events: ['InvalidSchedule'] },
    },
    {
      name: 'create a Job when they are due',
      cron: cronOf(),
      at: 10,
      want: { create: `tidy-${numberOf(10)}`, status: { lastScheduleTime: '2026-01-01T00:10:00Z' }, nextMs: 600_100 },
    },
    {
      name: 'create one Job for several missed times',
      cron: cronOf(),
      at: 35,
      want: { create: `tidy-${numberOf(30)}`, status: { lastScheduleTime: '2026-01-01T00:30:00Z' }, nextMs: 300_100 },
    },
    {
      name: 'create nothing twice',
      cron: cronOf({}, { lastScheduleTime: '2026-01-01T00:30:00Z' }),
      at: 35,
      want: { nextMs: 300_100 },
    },
    { name: 'create nothing while they are suspended', cron: cronOf({ suspend: true }), at: 35, want: {} },
    {
      name: 'do not create a Job after its deadline',
      cron: cronOf({ startingDeadlineSeconds: 60 }),
      at: 35,
      want: { nextMs: 300_100 },
    },
    {
      name: 'report that they missed many times',
      cron: cronOf(),
      at: 10 * 200 + 5,
      want: {
        create: `tidy-${numberOf(2000)}`,
        status: { lastScheduleTime: '2026-01-02T09:20:00Z' },
        events: ['TooManyMissedTimes'],
        nextMs: 300_100,
      },
    },
    {
      name: 'create no second Job with the policy Forbid',
      cron: cronOf({ concurrencyPolicy: 'Forbid' }, { active: [active('old')] }),
      jobs: [jobOf('old')],
      at: 10,
      want: { events: ['JobAlreadyActive'], nextMs: 600_100 },
    },
    {
      name: 'replace a running Job with the policy Replace',
      cron: cronOf({ concurrencyPolicy: 'Replace' }, { active: [active('old')] }),
      jobs: [jobOf('old')],
      at: 10,
      want: {
        create: `tidy-${numberOf(10)}`,
        remove: ['old'],
        status: { active: [active('old')], lastScheduleTime: '2026-01-01T00:10:00Z' },
        nextMs: 600_100,
      },
    },
    {
      name: 'report Jobs that end or are missing',
      cron: cronOf({}, { active: [active('done'), active('gone')] }),
      jobs: [jobOf('done', 'Complete')],
      at: 1,
      want: {
        status: { lastSuccessfulTime: '2026-01-01T00:00:00Z' },
        events: ['SawCompletedJob', 'MissingJob'],
        nextMs: 540_100,
      },
    },
    {
      name: 'keep some Jobs that have ended, the last ones',
      cron: cronOf({ successfulJobsHistoryLimit: 1 }, { lastSuccessfulTime: '2026-01-01T00:09:00Z' }),
      jobs: [
        jobOf('c', 'Complete', '2026-01-01T00:03:00Z'),
        jobOf('b', 'Complete', '2026-01-01T00:02:00Z'),
        jobOf('f', 'Failed', '2026-01-01T00:02:00Z'),
        jobOf('e', 'Failed', '2026-01-01T00:01:00Z'),
      ],
      at: 9,
      want: { remove: ['b', 'e'], nextMs: 60_100 },
    },
  ];
  for (const { name, cron, jobs = [], at, want } of cases) {
    test(name, () => assert.deepEqual(outcome(planCronJob({ cron, jobs, now: minutes(at) })), want));
  }

  test('a Job has the time in the zone of the CronJob', () => {
    const { create } = planCronJob({ cron: cronOf({ timeZone: 'Asia/Kolkata' }), jobs: [], now: minutes(10) });
    assert.equal(
      create?.metadata.annotations?.['batch.kubernetes.io/cronjob-scheduled-timestamp'],
      '2026-01-01T05:40:00+05:30',
    );
    assert.deepEqual(create?.metadata.labels, { app: 'tidy' });
  });
});
