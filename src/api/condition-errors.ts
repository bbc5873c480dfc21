import type { FieldError } from './field-errors.ts';
import { duplicate, invalidAll, invalidValue, notSupported, required, tooLong } from './field-errors.ts';
import type { Condition } from './metadata.ts';
import { qualifiedNameErrors } from './names.ts';

const statuses = ['False', 'True', 'Unknown'];
const maxReason = 1024;
const maxMessage = 32 * 1024;
const badReason =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

/** Validation errors of the standard conditions at `path`. */
export function conditionErrors(path: string, conditions: readonly Condition[]): readonly FieldError[] {
  const types = new Set<string>();
  return conditions.flatMap((condition, index) => {
    const at = `${path}[${index}]`;
    const repeated = types.has(condition.type) ? [duplicate(`${at}.type`, condition.type)] : [];
    types.add(condition.type);
    return [...repeated, ...oneConditionErrors(at, condition)];
  });
}

function oneConditionErrors(path: string, condition: Condition): readonly FieldError[] {
  const { type, status, observedGeneration = 0, lastTransitionTime, reason, message } = condition;
  const errors = invalidAll(`${path}.type`, type, qualifiedNameErrors(type));
  if (!statuses.includes(status)) errors.push(notSupported(`${path}.status`, status, statuses));
  if (observedGeneration < 0) {
    errors.push(
      invalidValue(`${path}.observedGeneration`, observedGeneration, 'must be greater than or equal to zero'),
    );
  }
  if ((lastTransitionTime ?? '') === '') errors.push(required(`${path}.lastTransitionTime`));
  errors.push(...reasonErrors(`${path}.reason`, reason));
  if (Buffer.byteLength(message) > maxMessage) errors.push(tooLong(`${path}.message`, maxMessage));
  return errors;
}

function reasonErrors(path: string, reason: string): readonly FieldError[] {
  if (reason === '') return [required(path)];
  return [
    ...(/^[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?$/.test(reason) ? [] : [invalidValue(path, reason, badReason)]),
    ...(Buffer.byteLength(reason) > maxReason ? [tooLong(path, maxReason)] : []),
  ];
}
