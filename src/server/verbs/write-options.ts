import { invalid } from '../../api/errors.ts';
import type { FieldError } from '../../api/field-errors.ts';
import { forbiddenField, invalidValue, notSupported, required, tooLong } from '../../api/field-errors.ts';
import { isTrue } from '../request.ts';

/** The options of a write in its query. */
export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  readonly force: boolean;
}

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export type OptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'ApplyOptions' | 'DeleteOptions';

/** Parses the options; throws Kubernetes' 422, which names the kind of the options. */
export function parseWriteOptions(query: URLSearchParams, kind: OptionsKind): WriteOptions {
  const dryRun = query.getAll('dryRun');
  const fieldManager = query.get('fieldManager') ?? '';
  const validation = query.get('fieldValidation') ?? '';
  const isApply = kind === 'ApplyOptions';
  rejectOptions(isApply ? 'PatchOptions' : kind, [
    ...dryRunErrors(dryRun),
    ...(isApply && fieldManager === '' ? [required('fieldManager', 'is required for apply patch')] : []),
    ...(kind === 'PatchOptions' && query.has('force')
      ? [forbiddenField('force', 'may not be specified for non-apply patch')]
      : []),
    ...fieldManagerErrors(fieldManager),
    ...fieldValidationErrors(validation),
  ]);
  return {
    dryRun: dryRun.includes('All'),
    fieldManager,
    fieldValidation: validation === 'Strict' || validation === 'Ignore' ? validation : 'Warn',
    force: isApply && isTrue(query.get('force')),
  };
}

/** Validates the values of `dryRun`. */
export const dryRunErrors = (values: readonly string[]): FieldError[] =>
  values.every((value) => value === 'All') ? [] : [notSupported('dryRun', values, ['All'])];

/** Throws a 422 if there are errors. */
export function rejectOptions(kind: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', resource: kind, name: '' }, errors);
}

function fieldManagerErrors(manager: string): FieldError[] {
  if (Buffer.byteLength(manager) > 128) return [tooLong('fieldManager', 128)];
  const bad = /[\p{C}\p{Zl}\p{Zp}]/u.exec(manager);
  if (bad === null) return [];
  const code = (bad[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const position = Buffer.byteLength(manager.slice(0, bad.index));
  return [invalidValue('fieldManager', manager, `invalid character U+${code} (at position ${position})`)];
}

const validations = ['', 'Ignore', 'Strict', 'Warn'];

const fieldValidationErrors = (value: string): FieldError[] =>
  validations.includes(value) ? [] : [notSupported('fieldValidation', value, validations)];

/** The manager of the fields that a write sets. */
export const managerOf = (options: WriteOptions, userAgent: string | undefined): string =>
  options.fieldManager || (userAgent ?? '').split('/')[0]?.slice(0, 128) || 'unknown';
