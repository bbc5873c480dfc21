import { isDeepStrictEqual } from 'node:util';

import type { FieldError } from '../../../field-errors.ts';
import { duplicate, invalidValue, required } from '../../../field-errors.ts';
import { negativeErrors } from '../../apps/workload.ts';
import { commonIndex, countIndexes } from './indexes.ts';
import type { Job } from './schema.ts';

type Status = Job['status'];

/** An error of the conditions, which are not printed. */
const conditionError = (detail: string): FieldError => ({
  path: 'status.conditions',
  reason: 'FieldValueInvalid',
  body: `Invalid value: ${detail}`,
});

const isTrue = ({ conditions = [] }: Status, type: string): boolean =>
  conditions.some((condition) => condition.type === type && condition.status === 'True');

const isFinished = (status: Status): boolean => isTrue(status, 'Complete') || isTrue(status, 'Failed');

/** Validation errors of a changed status. Rules that other fields may break apply only to fields that changed. */
export function jobStatusErrors(job: Job, old: Job): readonly FieldError[] {
  return [
    ...countErrors(job.status),
    ...uncountedErrors(job.status),
    ...conditionErrors(job.status, old.status),
    ...timeErrors(job, old),
    ...finishedErrors(job, old),
    ...indexErrors(job, old),
    ...counterErrors(job, old),
  ];
}

const countErrors = ({ active, succeeded, failed, ready, terminating }: Status): readonly FieldError[] =>
  negativeErrors({
    'status.active': active,
    'status.succeeded': succeeded,
    'status.failed': failed,
    'status.ready': ready,
    'status.terminating': terminating,
  });

function uncountedErrors({ uncountedTerminatedPods: { succeeded = [], failed = [] } = {} }: Status): FieldError[] {
  const seen = new Set<string>();
  return Object.entries({ succeeded, failed }).flatMap(([field, uids]) =>
    uids.flatMap((uid, index) => {
      const path = `status.uncountedTerminatedPods.${field}[${index}]`;
      if (uid === '') return [invalidValue(path, uid, 'must not be empty')];
      if (seen.has(uid)) return [duplicate(path, uid)];
      seen.add(uid);
      return [];
    }),
  );
}

function conditionErrors(status: Status, old: Status): readonly FieldError[] {
  const is = (type: string): boolean => isTrue(status, type);
  const was = (type: string): boolean => isTrue(old, type);
  const changed = (...types: readonly string[]): boolean => types.some((type) => is(type) !== was(type));
  const failedIndexesChanged = status.failedIndexes !== old.failedIndexes;
  const rules: readonly (readonly [isBroken: boolean, detail: string])[] = [
    [
      changed('Complete', 'Failed') && is('Complete') && is('Failed'),
      'cannot set Complete=True and Failed=true conditions',
    ],
    [
      changed('Complete', 'FailureTarget') && is('Complete') && is('FailureTarget'),
      'cannot set Complete=True and FailureTarget=true conditions',
    ],
    [
      (changed('Failed') || failedIndexesChanged) && is('Failed') && !is('FailureTarget'),
      'cannot set Failed=True condition without the FailureTarget=true condition',
    ],
    [
      changed('Complete', 'SuccessCriteriaMet') && is('Complete') && !is('SuccessCriteriaMet'),
      'cannot set Complete=True condition without the SuccessCriteriaMet=true condition',
    ],
    [is('SuccessCriteriaMet') && is('Failed'), 'cannot set SuccessCriteriaMet=True and Failed=true conditions'],
    [
      is('SuccessCriteriaMet') && is('FailureTarget'),
      'cannot set SuccessCriteriaMet=True and FailureTarget=true conditions',
    ],
    ...['Failed', 'Complete', 'FailureTarget'].map(
      (type) => [was(type) && !is(type), `cannot disable the terminal ${type}=True condition`] as const,
    ),
    [was('SuccessCriteriaMet') && !is('SuccessCriteriaMet'), 'cannot disable the SuccessCriteriaMet=True condition'],
    [
      was('Complete') && !was('SuccessCriteriaMet') && is('SuccessCriteriaMet'),
      'cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions',
    ],
  ];
  return rules.filter(([isBroken]) => isBroken).map(([, detail]) => conditionError(detail));
}

function timeErrors({ spec, status }: Job, { status: old }: Job): readonly FieldError[] {
  const { startTime, completionTime } = status;
  const path = 'status.completionTime';
  const isComplete = isTrue(status, 'Complete');
  const startChanged = startTime !== old.startTime;
  const completionChanged = completionTime !== old.completionTime;
  const errors: FieldError[] = [];
  if (isComplete !== isTrue(old, 'Complete') || completionChanged) {
    if (completionTime !== undefined && !isComplete) {
      const detail = 'cannot set completionTime when there is no Complete=True condition';
      errors.push(invalidValue(path, completionTime, detail));
    }
    if (completionTime === undefined && isComplete) {
      errors.push(required(path, 'completionTime is required for Complete jobs'));
    }
  }
  const isBackwards = Date.parse(completionTime ?? '') < Date.parse(startTime ?? '');
  if ((startChanged || completionChanged) && isBackwards) {
    errors.push(invalidValue(path, completionTime, 'must be equal to or after `startTime`'));
  }
  if (completionTime !== undefined && old.completionTime !== undefined && completionChanged) {
    errors.push(invalidValue(path, completionTime, 'field is immutable'));
  }
  const { conditions = [] } = status;
  const isResumed = conditions.some((condition) => condition.type === 'Suspended' && condition.status === 'False');
  const isResuming = isTrue(old, 'Suspended') && isResumed;
  if (old.startTime !== undefined && startChanged && !isResuming && spec.suspend !== true) {
    errors.push(required('status.startTime', 'startTime cannot be removed for unsuspended job'));
  }
  return errors;
}

function finishedErrors({ spec, status }: Job, { status: old }: Job): readonly FieldError[] {
  if (!isFinished(status)) return [];
  const { active = 0, terminating = 0, startTime, uncountedTerminatedPods: uncounted } = status;
  const hasEnded = !isFinished(old);
  const changed = (field: keyof Status): boolean => hasEnded || !isDeepStrictEqual(status[field], old[field]);
  const uncountedPods = (uncounted?.succeeded ?? []).length + (uncounted?.failed ?? []).length;
  const isEmptyAndSuspended = spec.suspend === true && spec.completions === 0;
  return [
    ...(changed('active') && active > 0
      ? [invalidValue('status.active', active, 'active>0 is invalid for finished job')]
      : []),
    ...(changed('startTime') && startTime === undefined && !isEmptyAndSuspended
      ? [required('status.startTime', 'startTime is required for finished job')]
      : []),
    ...(changed('uncountedTerminatedPods') && uncountedPods > 0
      ? [invalidValue('status.uncountedTerminatedPods', uncounted, 'must be empty for finished job')]
      : []),
    ...(changed('terminating') && terminating > 0
      ? [invalidValue('status.terminating', terminating, 'terminating>0 is invalid for finished job')]
      : []),
  ];
}

function indexErrors({ spec, status }: Job, { status: old }: Job): readonly FieldError[] {
  const { completedIndexes: completed = '', failedIndexes: failed } = status;
  const completedChanged = completed !== (old.completedIndexes ?? '');
  const failedChanged = failed !== old.failedIndexes;
  const { completions, backoffLimitPerIndex, completionMode } = spec;
  const errors: FieldError[] = [];
  const check = (field: 'completedIndexes' | 'failedIndexes', text: string): void => {
    const problem = completions === undefined ? 0 : countIndexes(text, completions);
    if (typeof problem === 'string') {
      errors.push(invalidValue(`status.${field}`, text, `error parsing ${field}: ${problem}`));
    }
  };
  if (completedChanged) check('completedIndexes', completed);
  if (failedChanged && failed !== undefined && backoffLimitPerIndex !== undefined) check('failedIndexes', failed);
  if (completedChanged && completed !== '' && completionMode !== 'Indexed') {
    const detail = 'cannot set non-empty completedIndexes when non-indexed completion mode';
    errors.push(invalidValue('status.completedIndexes', completed, detail));
  }
  if (failedChanged && failed !== undefined && backoffLimitPerIndex === undefined) {
    const detail = 'cannot set non-null failedIndexes when backoffLimitPerIndex is null';
    errors.push(invalidValue('status.failedIndexes', failed, detail));
  }
  if ((failedChanged || completedChanged) && completions !== undefined && failed !== undefined) {
    const common = commonIndex(completed, failed, completions);
    if (common !== undefined) {
      const detail = `failedIndexes and completedIndexes overlap at index: ${common}`;
      errors.push(invalidValue('status.failedIndexes', failed, detail));
    }
  }
  return errors;
}

function counterErrors({ spec, status }: Job, { status: old }: Job): readonly FieldError[] {
  const { ready, active = 0, failed = 0, succeeded = 0 } = status;
  const readyChanged = ready !== old.ready || active !== (old.active ?? 0);
  const canShrink = spec.completionMode === 'Indexed' && spec.completions === spec.parallelism;
  return [
    ...(readyChanged && ready !== undefined && ready > active
      ? [invalidValue('status.ready', ready, 'cannot set more ready pods than active')]
      : []),
    ...(failed < (old.failed ?? 0)
      ? [invalidValue('status.failed', failed, 'cannot decrease the failed counter')]
      : []),
    ...(!canShrink && succeeded < (old.succeeded ?? 0)
      ? [invalidValue('status.succeeded', succeeded, 'cannot decrease the succeeded counter')]
      : []),
  ];
}
