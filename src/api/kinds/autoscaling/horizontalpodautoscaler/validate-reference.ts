import type { FieldError } from '../../../field-errors.ts';
import { invalidAll, invalidValue, required } from '../../../field-errors.ts';
import { pathSegmentErrors } from '../../../names.ts';
import type { ObjectReference } from './schema.ts';

/** What is accepted as the API version of a reference. */
export type ReferenceRules = 'any' | 'valid' | 'withGroup';

/** Validation errors of a reference to an object. */
export function referenceErrors(path: string, reference: ObjectReference, rules: ReferenceRules): FieldError[] {
  const { kind, name, apiVersion = '' } = reference;
  const errors = Object.entries({ kind, name }).flatMap(([field, value]) =>
    value === '' ? [required(`${path}.${field}`)] : invalidAll(`${path}.${field}`, value, pathSegmentErrors(value)),
  );
  const problem = versionProblem(apiVersion, rules);
  return problem === undefined ? errors : [...errors, invalidValue(`${path}.apiVersion`, apiVersion, problem)];
}

/** What is wrong with the API version of a reference, if anything. */
export function versionProblem(apiVersion: string, rules: ReferenceRules): string | undefined {
  if (rules === 'any') return undefined;
  const slashes = apiVersion.split('/').length - 1;
  if (slashes > 1) return `unexpected GroupVersion string: ${apiVersion}`;
  if (rules === 'withGroup' && (slashes === 0 || apiVersion.startsWith('/'))) {
    return 'apiVersion must specify API group';
  }
  return undefined;
}
