import type { Column } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import { ageColumn, column, duration, nameColumn } from '../../../columns.ts';
import { selectorText } from '../../../selectors/label-selector.ts';
import { podNameWarnings, templateColumns, templateDefaults } from '../../apps/workload.ts';
import { mapField } from '../../core/pod/defaults.ts';
import type { Job, JobSpec } from './schema.ts';
import { job } from './schema.ts';
import { jobErrors, jobLabels, jobUpdateErrors } from './validate.ts';
import { jobStatusErrors } from './validate-status.ts';

const jobColumns: readonly Column<Job>[] = [
  nameColumn,
  column('Status', 'Status of the Job.', statusText),
  column('Completions', 'Number of Pods that succeeded and that must succeed.', completionsText),
  column('Duration', 'How long the Job ran.', durationText),
  ageColumn,
  ...templateColumns<Job>(({ spec }) => spec.template),
  column('Selector', 'Labels of the Pods.', ({ spec }) => selectorText(spec.selector), { wide: true }),
];

export const jobKind = defineKind<Job>({
  group: 'batch',
  version: 'v1',
  kind: 'Job',
  plural: 'jobs',
  categories: ['all'],
  namespaced: true,
  schema: job,
  hasStatus: true,
  generation: 'spec',
  deletion: { orphansByDefault: true },
  selectableFields: { 'status.successful': ({ status }) => String(status.succeeded ?? 0) },
  columns: jobColumns,
  applyDefaults,
  prepareForCreate: (object) => ({ ...withGeneratedSelector(object), status: {} }),
  validateCreate: jobErrors,
  validateUpdate: jobUpdateErrors,
  validateStatus: jobStatusErrors,
  warnings: (object, old) => [
    ...(old === undefined ? podNameWarnings(object) : []),
    ...indexWarnings(object.spec, 'spec'),
  ],
});

const maxInt32 = 2147483647;

/** Labels default to those of the template, and completions and parallelism to 1 if both are unset. */
function applyDefaults({ metadata, spec, ...rest }: Job): Job {
  const { labels } = spec.template.metadata;
  const isUnlabeled = Object.keys(metadata.labels ?? {}).length === 0;
  const isSingle = spec.completions === undefined && spec.parallelism === undefined;
  return {
    ...rest,
    metadata: { ...metadata, ...(labels !== undefined && isUnlabeled ? { labels } : {}) },
    spec: {
      ...jobTemplateDefaults(spec),
      ...(isSingle ? { completions: 1 } : {}),
      parallelism: spec.parallelism ?? 1,
      backoffLimit: spec.backoffLimit ?? (spec.backoffLimitPerIndex === undefined ? 6 : maxInt32),
      completionMode: spec.completionMode ?? 'NonIndexed',
      suspend: spec.suspend ?? false,
      podReplacementPolicy:
        spec.podReplacementPolicy ?? (spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed'),
      manualSelector: spec.manualSelector ?? false,
    },
  };
}

/** The defaults of a Job in the template of a CronJob. */
export const jobTemplateDefaults = (spec: JobSpec): JobSpec =>
  mapField({ ...spec, template: templateDefaults(spec.template) }, 'podFailurePolicy', (policy) => ({
    rules: (policy.rules ?? []).map((rule) =>
      mapField(rule, 'onPodConditions', (patterns) =>
        patterns.map((pattern) => ({ ...pattern, status: pattern.status || 'True' })),
      ),
    ),
  }));

/** Adds labels to the template and a selector for them. Labels that conflict are rejected by the validation. */
function withGeneratedSelector(object: Job): Job {
  const { metadata, spec } = object;
  if (spec.manualSelector === true) return object;
  const { uid = '', name = '' } = metadata;
  const generated = Object.fromEntries([
    ...jobLabels.name.map((label) => [label, name]),
    ...jobLabels.uid.map((label) => [label, uid]),
  ]);
  const { template, selector = {} } = spec;
  const labels = { ...generated, ...template.metadata.labels };
  // As in Kubernetes, labels that were defaulted from those of the template stay equal to them.
  const isDefaulted = metadata.labels === template.metadata.labels;
  return {
    ...object,
    ...(isDefaulted ? { metadata: { ...metadata, labels } } : {}),
    spec: {
      ...spec,
      selector: { ...selector, matchLabels: { [jobLabels.uid[1]]: uid, ...selector.matchLabels } },
      template: {
        ...template,
        metadata: { ...template.metadata, labels },
      },
    },
  };
}

/** Warnings about a Job, or the template of a CronJob, whose indexes may become too many to track. */
export function indexWarnings(spec: JobSpec, path: string): readonly string[] {
  const { completionMode, completions = 0, parallelism = 0 } = spec;
  if (completionMode !== 'Indexed' || completions <= 100_000 || parallelism <= 10_000) return [];
  return [
    `${path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`,
  ];
}

function statusText({ metadata, status: { conditions = [] } }: Job): string {
  const is = (type: string): boolean =>
    conditions.some((condition) => condition.type === type && condition.status === 'True');
  if (is('Complete')) return 'Complete';
  if (is('Failed')) return 'Failed';
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(is) ?? 'Running';
}

function completionsText({ spec: { completions, parallelism = 0 }, status: { succeeded = 0 } }: Job): string {
  if (completions !== undefined) return `${succeeded}/${completions}`;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationText({ status: { startTime, completionTime } }: Job, now: number): string {
  if (startTime === undefined || startTime === null) return '';
  return duration((completionTime ? Date.parse(completionTime) : now) - Date.parse(startTime));
}
