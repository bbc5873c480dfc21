import { isDeepStrictEqual } from 'node:util';

import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, notSupported, required, tooLong } from '../../../field-errors.ts';
import { dnsLabelErrors, domainPrefixedPathErrors } from '../../../names.ts';
import { labelSelectorErrors, requirementsOf } from '../../../selectors/label-selector.ts';
import { matchesLabels } from '../../../selectors/labels.ts';
import { negativeErrors } from '../../apps/workload.ts';
import type { PodTemplateSpec } from '../../core/pod/schema.ts';
import { podTemplateErrors } from '../../core/pod/validate.ts';
import type { Job, JobSpec } from './schema.ts';
import { failurePolicyErrors, successPolicyErrors } from './validate-policies.ts';

const maxParallelism = 100_000;
const maxFailedIndexes = 100_000;
const manyCompletions = 100_000;
const maxForManyCompletions = 10_000;
const maxManagedByBytes = 63;

/** The labels of the Pods of a Job: those without a prefix are older. */
export const jobLabels = {
  uid: ['controller-uid', 'batch.kubernetes.io/controller-uid'],
  name: ['job-name', 'batch.kubernetes.io/job-name'],
} as const;

/** Validation errors of a new Job. */
export const jobErrors = (job: Job): readonly FieldError[] => [
  ...generatedErrors(job, true),
  ...specErrors(job.spec),
  ...hostnameErrors(job),
];

/** Validation errors of a changed Job. */
export function jobUpdateErrors(job: Job, old: Job): readonly FieldError[] {
  const { labels = {} } = old.spec.template.metadata;
  const hasPrefixedLabels = [jobLabels.uid[1], jobLabels.name[1]].every((label) => labels[label] !== undefined);
  return [
    ...generatedErrors(job, hasPrefixedLabels),
    ...specErrors(job.spec),
    ...hostnameErrors(job),
    ...changeErrors(job.spec, old),
  ];
}

/** The labels of the template and the selector must be those that the server generates. */
function generatedErrors({ metadata, spec }: Job, withPrefix: boolean): readonly FieldError[] {
  const { selector, manualSelector, template } = spec;
  if (manualSelector === true || selector === undefined) return [];
  const { uid = '', name = '' } = metadata;
  const expected = Object.fromEntries([
    [jobLabels.uid[0], uid],
    [jobLabels.name[0], name],
    ...(withPrefix ? [[jobLabels.uid[1], uid] as const, [jobLabels.name[1], name] as const] : []),
  ]);
  const errors: FieldError[] = uid === '' ? [required('metadata.uid')] : [];
  const labels = template.metadata.labels ?? {};
  for (const [label, value] of Object.entries(expected)) {
    const path = `spec.template.metadata.labels[${label}]`;
    if (labels[label] === undefined) errors.push(required(path, `must be '${value}'`));
    else if (labels[label] !== value) errors.push(invalidValue(path, labels, `must be '${value}'`));
  }
  const requirements = requirementsOf(selector);
  if (requirements !== undefined && !matchesLabels(requirements, expected)) {
    errors.push(invalidValue('spec.selector', selector, '`selector` not auto-generated'));
  }
  return errors;
}

/** Pods of an indexed Job have the index in their hostname. */
function hostnameErrors({ metadata: { name = '' }, spec }: Job): readonly FieldError[] {
  const { completionMode, completions = 0 } = spec;
  if (completionMode !== 'Indexed' || completions <= 0) return [];
  const longest = `${name}-${completions - 1}`;
  if (dnsLabelErrors(longest).length === 0) return [];
  return [invalidValue('metadata.name', name, `will not able to create pod with invalid DNS label: ${longest}`)];
}

function specErrors(spec: JobSpec): readonly FieldError[] {
  const { selector, template } = spec;
  const errors = [...jobSpecErrors(spec, 'spec')];
  if (selector === undefined) errors.push(required('spec.selector'));
  else errors.push(...labelSelectorErrors('spec.selector', selector));
  const requirements = selector && requirementsOf(selector);
  const { labels } = template.metadata;
  if (selector === undefined || (requirements !== undefined && !matchesLabels(requirements, labels))) {
    const detail = '`selector` does not match template `labels`';
    errors.push(invalidValue('spec.template.metadata.labels', labels ?? null, detail));
  }
  return errors;
}

/** Validation errors of the spec of a Job at `path`, except of its selector; also for the template in a CronJob. */
export function jobSpecErrors(spec: JobSpec, path: string): readonly FieldError[] {
  const { podFailurePolicy, successPolicy, completionMode = 'NonIndexed' } = spec;
  return [
    ...numberErrors(spec, path),
    ...managerErrors(spec.managedBy, `${path}.managedBy`),
    ...modeErrors(spec, path),
    ...(podFailurePolicy === undefined ? [] : failurePolicyErrors(spec, `${path}.podFailurePolicy`)),
    ...(successPolicy === undefined
      ? []
      : completionMode === 'Indexed'
        ? successPolicyErrors(spec, `${path}.successPolicy`)
        : [invalidValue(`${path}.successPolicy`, successPolicy, 'requires indexed completion mode')]),
    ...replacementErrors(spec, `${path}.podReplacementPolicy`),
    ...podTemplateErrors(spec.template, `${path}.template`),
    ...restartErrors(spec, `${path}.template.spec.restartPolicy`),
  ];
}

const numberErrors = (spec: JobSpec, path: string): readonly FieldError[] => [
  ...negativeErrors({
    [`${path}.parallelism`]: spec.parallelism,
    [`${path}.completions`]: spec.completions,
    [`${path}.activeDeadlineSeconds`]: spec.activeDeadlineSeconds,
    [`${path}.backoffLimit`]: spec.backoffLimit,
    [`${path}.ttlSecondsAfterFinished`]: spec.ttlSecondsAfterFinished,
    [`${path}.backoffLimitPerIndex`]: spec.backoffLimitPerIndex,
    [`${path}.maxFailedIndexes`]: spec.maxFailedIndexes,
  }),
  ...(spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined
    ? [required(`${path}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified')]
    : []),
];

function managerErrors(managedBy: string | undefined, path: string): readonly FieldError[] {
  if (managedBy === undefined) return [];
  return [
    ...domainPrefixedPathErrors(managedBy).map(({ part, message }) => invalidValue(path, part, message)),
    ...(Buffer.byteLength(managedBy) > maxManagedByBytes ? [tooLong(path, maxManagedByBytes)] : []),
  ];
}

function modeErrors(spec: JobSpec, path: string): readonly FieldError[] {
  const { completionMode: mode = 'NonIndexed', backoffLimitPerIndex, maxFailedIndexes: failed } = spec;
  const modes: readonly string[] = ['NonIndexed', 'Indexed'];
  if (!modes.includes(mode)) return [notSupported(`${path}.completionMode`, mode, modes)];
  if (mode === 'Indexed') return indexedErrors(spec, path);
  return Object.entries({ backoffLimitPerIndex, maxFailedIndexes: failed })
    .filter(([, value]) => value !== undefined)
    .map(([field, value]) => invalidValue(`${path}.${field}`, value, 'requires indexed completion mode'));
}

function indexedErrors(spec: JobSpec, path: string): readonly FieldError[] {
  const { completions, parallelism = 0, maxFailedIndexes: failed = 0, backoffLimitPerIndex } = spec;
  const errors: FieldError[] = [];
  const refuse = (field: 'parallelism' | 'maxFailedIndexes', detail: string): void => {
    errors.push(invalidValue(`${path}.${field}`, spec[field], `must be less than or equal to ${detail}`));
  };
  if (completions === undefined) errors.push(required(`${path}.completions`, 'when completion mode is Indexed'));
  if (parallelism > maxParallelism) refuse('parallelism', `${maxParallelism} when completion mode is Indexed`);
  if (completions !== undefined && failed > completions) refuse('maxFailedIndexes', 'completions');
  if (failed > maxFailedIndexes) refuse('maxFailedIndexes', `${maxFailedIndexes}`);
  if (completions === undefined || completions <= manyCompletions || backoffLimitPerIndex === undefined) return errors;
  if (spec.maxFailedIndexes === undefined) {
    const detail = `must be specified when completions is above ${manyCompletions}`;
    errors.push(required(`${path}.maxFailedIndexes`, detail));
  }
  const limit = `${maxForManyCompletions} when completions are above ${manyCompletions} and used with backoff limit per index`;
  if (parallelism > maxForManyCompletions) refuse('parallelism', limit);
  if (failed > maxForManyCompletions) refuse('maxFailedIndexes', limit);
  return errors;
}

function replacementErrors({ podReplacementPolicy, podFailurePolicy }: JobSpec, path: string): readonly FieldError[] {
  const words: readonly string[] = podFailurePolicy === undefined ? ['Failed', 'TerminatingOrFailed'] : ['Failed'];
  if (podReplacementPolicy === undefined || words.includes(podReplacementPolicy)) return [];
  return [notSupported(path, podReplacementPolicy, words)];
}

function restartErrors({ template, podFailurePolicy }: JobSpec, path: string): readonly FieldError[] {
  const policy: string = template.spec.restartPolicy ?? '';
  if (policy === 'Always' || policy === '') return [required(path, 'valid values: "OnFailure", "Never"')];
  if (policy !== 'OnFailure' && policy !== 'Never') return [notSupported(path, policy, ['OnFailure', 'Never'])];
  if (podFailurePolicy === undefined || policy === 'Never') return [];
  return [invalidValue(path, policy, 'only "Never" is supported when podFailurePolicy is specified')];
}

const immutableFields = [
  'completionMode',
  'podFailurePolicy',
  'backoffLimitPerIndex',
  'managedBy',
  'successPolicy',
] as const;

function changeErrors(spec: JobSpec, old: Job): readonly FieldError[] {
  const immutable = (field: string, value: unknown, before: unknown): readonly FieldError[] =>
    isDeepStrictEqual(value, before) ? [] : [invalidValue(`spec.${field}`, value, 'field is immutable')];
  return [
    ...completionErrors(spec, old.spec),
    ...immutable('selector', spec.selector, old.spec.selector),
    ...immutable('template', spec.template, comparableTemplate(spec.template, old)),
    ...immutableFields.flatMap((field) => immutable(field, spec[field], old.spec[field])),
  ];
}

/** The completions of an indexed Job change with its parallelism. */
function completionErrors({ completionMode, completions, parallelism }: JobSpec, old: JobSpec): readonly FieldError[] {
  const path = 'spec.completions';
  if (completions === old.completions) return [];
  if (completionMode !== 'Indexed') return [invalidValue(path, completions, 'field is immutable')];
  if (completions === undefined || completions === parallelism) return [];
  return [invalidValue(path, completions, 'can only be modified in tandem with spec.parallelism')];
}

/** The old template; of a suspended Job that has not started, with the new fields that direct scheduling. */
function comparableTemplate({ metadata, spec }: PodTemplateSpec, { spec: old, status }: Job): PodTemplateSpec {
  if (old.suspend !== true || status.startTime !== undefined) return old.template;
  const { affinity: oldAffinity, nodeSelector: _n, tolerations: _t, schedulingGates: _g, ...kept } = old.template.spec;
  const { nodeAffinity: _a, ...otherAffinity } = oldAffinity ?? {};
  const { nodeAffinity } = spec.affinity ?? {};
  const affinity = { ...(nodeAffinity === undefined ? {} : { nodeAffinity }), ...otherAffinity };
  const hasAffinity = spec.affinity !== undefined || Object.keys(otherAffinity).length > 0;
  const { labels: _l, annotations: _an, ...keptMetadata } = old.template.metadata;
  const { labels, annotations } = metadata;
  const { nodeSelector, tolerations, schedulingGates } = spec;
  return {
    metadata: {
      ...keptMetadata,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
    },
    spec: {
      ...kept,
      ...(hasAffinity ? { affinity } : {}),
      ...(nodeSelector === undefined ? {} : { nodeSelector }),
      ...(tolerations === undefined ? {} : { tolerations }),
      ...(schedulingGates === undefined ? {} : { schedulingGates }),
    },
  };
}
