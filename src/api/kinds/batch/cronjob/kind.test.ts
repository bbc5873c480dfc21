import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cells, created, createErrors, updateErrors } from '../../testing/validation.ts';
import { cronJobKind } from './kind.ts';
import { scheduleProblem } from './schedule.ts';

const pod = { containers: [{ name: 'main', image: 'example.org/main:1' }], restartPolicy: 'Never' };
const jobTemplate = { spec: { template: { spec: pod } } };
const cron = (more: object = {}): object => ({ spec: { schedule: '0 3 * * *', jobTemplate, ...more } });

test('sets the defaults of a CronJob and leaves those of its Jobs to their creation', () => {
  const { jobTemplate: made, ...spec } = created(cronJobKind, cron()).spec;
  assert.deepEqual(spec, {
    schedule: '0 3 * * *',
    concurrencyPolicy: 'Allow',
    suspend: false,
    successfulJobsHistoryLimit: 3,
    failedJobsHistoryLimit: 1,
  });
  assert.deepEqual([made.spec.completions, made.spec.template.spec.dnsPolicy], [undefined, 'ClusterFirst']);
});

const table: readonly { name: string; given: object; want: readonly string[] }[] = [
  { name: 'accepts a schedule with a time zone', given: cron({ timeZone: 'Europe/Berlin' }), want: [] },
  { name: 'requires a schedule', given: cron({ schedule: '' }), want: ['spec.schedule: Required value'] },
  {
    name: 'rejects a time zone in the schedule',
    given: cron({ schedule: 'TZ=UTC 0 3 * * *' }),
    want: [
      'spec.schedule: Invalid value: "TZ=UTC 0 3 * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
    ],
  },
  {
    name: 'rejects unknown time zones',
    given: cron({ timeZone: 'Europe/Atlantis' }),
    want: ['spec.timeZone: Invalid value: "Europe/Atlantis": unknown time zone Europe/Atlantis'],
  },
  {
    name: 'rejects unknown policies and negative numbers',
    given: cron({ concurrencyPolicy: 'Wait', startingDeadlineSeconds: -1, failedJobsHistoryLimit: -1 }),
    want: [
      'spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0',
      'spec.concurrencyPolicy: Unsupported value: "Wait": supported values: "Allow", "Forbid", "Replace"',
      'spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0',
    ],
  },
  {
    name: 'the selector of the Jobs is generated',
    given: cron({ jobTemplate: { spec: { ...jobTemplate.spec, selector: {}, manualSelector: true } } }),
    want: [
      'spec.jobTemplate.spec.selector: Invalid value: {}: `selector` will be auto-generated',
      'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
    ],
  },
  {
    name: 'names have at most 52 characters',
    given: { metadata: { name: 'x'.repeat(53) }, ...cron() },
    want: [`metadata.name: Invalid value: "${'x'.repeat(53)}": must be no more than 52 characters`],
  },
];
for (const { name, given, want } of table) test(name, () => assert.deepEqual(createErrors(cronJobKind, given), want));

test('a schedule that had a time zone may keep one, without the field timeZone', () => {
  const zoned = cron({ schedule: 'CRON_TZ=UTC 0 3 * * *' });
  assert.deepEqual(updateErrors(cronJobKind, zoned, zoned), []);
  assert.deepEqual(updateErrors(cronJobKind, zoned, cron({ schedule: 'TZ=UTC 0 3 * * *', timeZone: 'UTC' })), [
    'spec.schedule: Invalid value: "TZ=UTC 0 3 * * *": cannot use both timeZone field and TZ or CRON_TZ in schedule',
  ]);
});

const schedules: readonly (readonly [schedule: string, want: string | undefined])[] = [
  ['*/5 0-6,12 1 JAN-mar ?', undefined],
  ['@hourly', undefined],
  ['@every 1h30m', undefined],
  ['@every day', 'failed to parse duration @every day: time: invalid duration "day"'],
  ['@noon', 'unrecognized descriptor: @noon'],
  ['0 3 * *', 'expected exactly 5 fields, found 4: [0 3 * *]'],
  ['60 * * * *', 'end of range (60) above maximum (59): 60'],
  ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
  ['5-1 * * * *', 'beginning of range (5) beyond end of range (1): 5-1'],
  ['*/0 * * * *', 'step of range should be a positive number: */0'],
  ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
  ['1/2/3 * * * *', 'too many slashes: 1/2/3'],
  ['x * * * *', 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
  ['TZ=Nowhere * * * * *', 'provided bad location Nowhere: unknown time zone Nowhere'],
];
for (const [schedule, want] of schedules) {
  test(`${schedule} is ${want === undefined ? 'valid' : 'invalid'}`, () =>
    assert.equal(scheduleProblem(schedule), want));
}

test('the row of a CronJob', () => {
  assert.deepEqual(cells(cronJobKind, cron()).slice(0, 6), ['a', '0 3 * * *', '<none>', 'False', 0, '<none>']);
});
