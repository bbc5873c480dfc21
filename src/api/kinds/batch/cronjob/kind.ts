import { age, ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, notSupported, required } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import {
  always,
  boolean,
  int32,
  int64,
  list,
  oneOf,
  optional,
  pointer,
  string,
  struct,
  time,
} from '../../../schema/schema.ts';
import { selectorText } from '../../../selectors/label-selector.ts';
import { negativeErrors, podNameWarnings, templateColumns } from '../../apps/workload.ts';
import { objectReference } from '../../core/references.ts';
import { indexWarnings, jobTemplateDefaults } from '../job/kind.ts';
import { jobTemplateSpec } from '../job/schema.ts';
import { jobSpecErrors } from '../job/validate.ts';
import { scheduleProblem, zoneProblem } from './schedule.ts';

const batch = 'io.k8s.api.batch.v1';

const cronJobSpec = struct(`${batch}.CronJobSpec`, 'The Jobs and when they are created.', {
  schedule: always(1, string, 'When a Job is created, in the format of cron.', { required: true }),
  timeZone: pointer(8, string, 'The time zone of the schedule, such as Europe/Berlin.'),
  startingDeadlineSeconds: pointer(2, int64, 'How many seconds late a Job may be created.'),
  concurrencyPolicy: optional(
    3,
    oneOf('Allow', 'Forbid', 'Replace'),
    'What happens while a Job is running: Allow (the default), Forbid or Replace.',
  ),
  suspend: pointer(4, boolean, 'Whether no Jobs are created for now.'),
  jobTemplate: always(5, jobTemplateSpec, 'The template of the Jobs.', { required: true }),
  successfulJobsHistoryLimit: pointer(6, int32, 'Number of successful Jobs to keep.'),
  failedJobsHistoryLimit: pointer(7, int32, 'Number of failed Jobs to keep.'),
});

const cronJobStatus = struct(`${batch}.CronJobStatus`, 'The observed Jobs.', {
  active: optional(1, list(objectReference), 'The Jobs that are running.'),
  lastScheduleTime: pointer(4, time, 'When a Job was last created.'),
  lastSuccessfulTime: pointer(5, time, 'When a Job last succeeded.'),
});

const cronJob = objectSchema(`${batch}.CronJob`, 'Creates Jobs at given times.', {
  spec: always(2, cronJobSpec, 'The Jobs and when they are created.'),
  status: always(3, cronJobStatus, 'The observed Jobs.'),
});

export type CronJob = Infer<typeof cronJob>;
type Spec = CronJob['spec'];

export const cronJobKind = defineKind<CronJob>({
  group: 'batch',
  version: 'v1',
  kind: 'CronJob',
  plural: 'cronjobs',
  shortNames: ['cj'],
  categories: ['all'],
  namespaced: true,
  schema: cronJob,
  hasStatus: true,
  generation: 'spec',
  columns: [
    nameColumn,
    column('Schedule', 'When a Job is created.', ({ spec }) => spec.schedule),
    column('Timezone', 'The time zone of the schedule.', ({ spec }) => spec.timeZone ?? '<none>'),
    column('Suspend', 'Whether no Jobs are created for now.', ({ spec }) => suspendText(spec), { type: 'boolean' }),
    column('Active', 'Number of Jobs that are running.', ({ status }) => (status.active ?? []).length, {
      type: 'integer',
    }),
    column('Last Schedule', 'When a Job was last created.', ({ status: { lastScheduleTime } }, now) =>
      lastScheduleTime ? age(lastScheduleTime, now) : '<none>',
    ),
    ageColumn,
    ...templateColumns<CronJob>(({ spec }) => spec.jobTemplate.spec.template),
    column('Selector', 'Labels of the Pods.', ({ spec }) => selectorText(spec.jobTemplate.spec.selector), {
      wide: true,
    }),
  ],
  applyDefaults: ({ spec, ...rest }) => ({
    ...rest,
    spec: {
      ...spec,
      concurrencyPolicy: spec.concurrencyPolicy ?? 'Allow',
      suspend: spec.suspend ?? false,
      jobTemplate: { ...spec.jobTemplate, spec: jobTemplateDefaults(spec.jobTemplate.spec) },
      successfulJobsHistoryLimit: spec.successfulJobsHistoryLimit ?? 3,
      failedJobsHistoryLimit: spec.failedJobsHistoryLimit ?? 1,
    },
  }),
  prepareForCreate: (object) => ({ ...object, status: {} }),
  validateCreate: (object) => [...specErrors(object.spec, undefined), ...nameErrors(object)],
  validateUpdate: ({ spec }, old) => specErrors(spec, old.spec),
  warnings: ({ metadata, spec }, old) => [
    ...(old === undefined ? podNameWarnings({ metadata }) : []),
    ...indexWarnings(spec.jobTemplate.spec, 'spec.jobTemplate.spec'),
    ...(old !== undefined && spec.schedule.includes('TZ')
      ? [
          'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details',
        ]
      : []),
  ],
});

const suspendText = ({ suspend }: Spec): string => (suspend === undefined ? '<unset>' : suspend ? 'True' : 'False');

/** Names of Jobs have 11 characters more. */
const maxNameLength = 52;

const nameErrors = ({ metadata: { name = '' } }: CronJob): readonly FieldError[] =>
  name.length > maxNameLength ? [invalidValue('metadata.name', name, 'must be no more than 52 characters')] : [];

function specErrors(spec: Spec, old: Spec | undefined): readonly FieldError[] {
  const { schedule, timeZone, startingDeadlineSeconds, concurrencyPolicy = '' } = spec;
  const policies: readonly string[] = ['Allow', 'Forbid', 'Replace'];
  return [
    ...(schedule === '' ? [required('spec.schedule')] : scheduleErrors(spec, old)),
    ...negativeErrors({ 'spec.startingDeadlineSeconds': startingDeadlineSeconds }),
    ...(old !== undefined && old.timeZone === timeZone ? [] : zoneErrors(timeZone)),
    ...(policies.includes(concurrencyPolicy)
      ? []
      : [notSupported('spec.concurrencyPolicy', concurrencyPolicy, policies)]),
    ...templateErrors(spec.jobTemplate),
    ...negativeErrors({
      'spec.successfulJobsHistoryLimit': spec.successfulJobsHistoryLimit,
      'spec.failedJobsHistoryLimit': spec.failedJobsHistoryLimit,
    }),
  ];
}

/** A schedule that had a time zone may keep one. */
function scheduleErrors({ schedule, timeZone }: Spec, old: Spec | undefined): readonly FieldError[] {
  const path = 'spec.schedule';
  const problem = scheduleProblem(schedule);
  const errors = problem === undefined ? [] : [invalidValue(path, schedule, problem)];
  if (!schedule.includes('TZ')) return errors;
  if (old?.schedule.includes('TZ') !== true) {
    errors.push(invalidValue(path, schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead'));
  } else if (timeZone !== undefined) {
    errors.push(invalidValue(path, schedule, 'cannot use both timeZone field and TZ or CRON_TZ in schedule'));
  }
  return errors;
}

const zonePart = /^[A-Za-z._0-9+][A-Za-z.\-_0-9+]{0,13}$/;

function zoneErrors(zone: string | undefined): readonly FieldError[] {
  const path = 'spec.timeZone';
  if (zone === undefined) return [];
  if (zone === '') return [invalidValue(path, zone, 'timeZone must be nil or non-empty string')];
  const isName = zone.split('/').every((part) => part !== '.' && part !== '..' && zonePart.test(part));
  if (!isName) return [invalidValue(path, zone, `unknown time zone ${zone}`)];
  if (zone.toLowerCase() === 'local') {
    const detail = 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones';
    return [invalidValue(path, zone, detail)];
  }
  const problem = zoneProblem(zone);
  return problem === undefined ? [] : [invalidValue(path, zone, problem)];
}

/** The selector of the Jobs is always generated. */
function templateErrors({ spec }: Spec['jobTemplate']): readonly FieldError[] {
  const path = 'spec.jobTemplate.spec';
  return [
    ...jobSpecErrors(spec, path),
    ...(spec.selector === undefined
      ? []
      : [invalidValue(`${path}.selector`, spec.selector, '`selector` will be auto-generated')]),
    ...(spec.manualSelector === true ? [notSupported(`${path}.manualSelector`, true, ['nil', 'false'])] : []),
  ];
}
