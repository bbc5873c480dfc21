// Validates the policies of a Job: what failures of Pods mean, and when the Job has succeeded.
import type { FieldError } from '../../../field-errors.ts';
import {
  duplicate,
  invalidAll,
  invalidValue,
  notSupported,
  required,
  tooLong,
  tooMany,
} from '../../../field-errors.ts';
import { qualifiedNameErrors } from '../../../names.ts';
import { countIndexes } from './indexes.ts';
import type { JobSpec, PodFailurePolicyRule, SuccessPolicyRule } from './schema.ts';

const maxRules = 20;
const maxExitCodes = 255;
const maxConditions = 20;
const maxIndexesBytes = 64 * 1024;

/** An error without the value. */
const invalidWithout = (path: string, detail: string): FieldError => ({
  path,
  reason: 'FieldValueInvalid',
  body: `Invalid value: ${detail}`,
});

/** A required word, as Go prints the choices. */
const requiredWord = (path: string, words: readonly string[]): FieldError =>
  required(path, `valid values: [${words.map((word) => JSON.stringify(word)).join(' ')}]`);

const wordErrors = (path: string, word: string, words: readonly string[]): readonly FieldError[] => {
  if (word === '') return [requiredWord(path, words)];
  return words.includes(word) ? [] : [notSupported(path, word, words)];
};

const actions: readonly string[] = ['Count', 'FailIndex', 'FailJob', 'Ignore'];
const operators: readonly string[] = ['In', 'NotIn'];
const statuses: readonly string[] = ['False', 'True', 'Unknown'];

/** Validation errors of the pod failure policy at `path`. */
export function failurePolicyErrors(spec: JobSpec, path: string): readonly FieldError[] {
  const rules = spec.podFailurePolicy?.rules ?? [];
  const { containers, initContainers } = spec.template.spec;
  const names = new Set([...(containers ?? []), ...(initContainers ?? [])].map(({ name }) => name));
  const at = `${path}.rules`;
  return [
    ...(rules.length > maxRules ? [tooMany(at, rules.length, maxRules)] : []),
    ...rules.flatMap((rule, index) => failureRuleErrors(rule, spec, `${at}[${index}]`, names)),
  ];
}

function failureRuleErrors(
  { action, onExitCodes, onPodConditions = [] }: PodFailurePolicyRule,
  { backoffLimitPerIndex }: JobSpec,
  at: string,
  containers: ReadonlySet<string>,
): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (action === 'FailIndex') {
    if (backoffLimitPerIndex === undefined) {
      errors.push(invalidValue(`${at}.action`, action, 'requires the backoffLimitPerIndex to be set'));
    }
  } else errors.push(...wordErrors(`${at}.action`, action, actions));
  if (onExitCodes !== undefined) errors.push(...exitCodeErrors(onExitCodes, `${at}.onExitCodes`, containers));
  if (onPodConditions.length > 0) errors.push(...conditionErrors(onPodConditions, `${at}.onPodConditions`));
  const isBoth = onExitCodes !== undefined && onPodConditions.length > 0;
  if (isBoth) errors.push(invalidWithout(at, 'specifying both OnExitCodes and OnPodConditions is not supported'));
  if (onExitCodes === undefined && onPodConditions.length === 0) {
    errors.push(invalidWithout(at, 'specifying one of OnExitCodes and OnPodConditions is required'));
  }
  return errors;
}

function conditionErrors(
  patterns: NonNullable<PodFailurePolicyRule['onPodConditions']>,
  path: string,
): readonly FieldError[] {
  return [
    ...(patterns.length > maxConditions ? [tooMany(path, patterns.length, maxConditions)] : []),
    ...patterns.flatMap(({ type, status }, index) => [
      ...invalidAll(`${path}[${index}].type`, type, qualifiedNameErrors(type)),
      ...wordErrors(`${path}[${index}].status`, status, statuses),
    ]),
  ];
}

function exitCodeErrors(
  { operator, containerName, values }: NonNullable<PodFailurePolicyRule['onExitCodes']>,
  at: string,
  containers: ReadonlySet<string>,
): readonly FieldError[] {
  const codes = values ?? [];
  const path = `${at}.values`;
  const errors: FieldError[] = [...wordErrors(`${at}.operator`, operator, operators)];
  if (containerName !== undefined && !containers.has(containerName)) {
    const detail = 'must be one of the container or initContainer names in the pod template';
    errors.push(invalidValue(`${at}.containerName`, containerName, detail));
  }
  if (codes.length === 0) errors.push(invalidValue(path, values, 'at least one value is required'));
  else if (codes.length > maxExitCodes) errors.push(tooMany(path, codes.length, maxExitCodes));
  const seen = new Set<number>();
  for (const [index, code] of codes.entries()) {
    const isZero = operator === 'In' && code === 0;
    if (isZero) errors.push(invalidValue(`${path}[${index}]`, code, 'must not be 0 for the In operator'));
    if (seen.has(code)) errors.push(duplicate(`${path}[${index}]`, code));
    seen.add(code);
  }
  const isOrdered = codes.every((code, index) => index === 0 || (codes[index - 1] ?? code) <= code);
  if (!isOrdered) errors.push(invalidValue(path, codes, 'must be ordered'));
  return errors;
}

/** Validation errors of the success policy at `path`. */
export function successPolicyErrors(spec: JobSpec, path: string): readonly FieldError[] {
  const rules = spec.successPolicy?.rules ?? [];
  const at = `${path}.rules`;
  return [
    ...(rules.length === 0
      ? [required(at, 'at least one rules must be specified when the successPolicy is specified')]
      : []),
    ...(rules.length > maxRules ? [tooMany(at, rules.length, maxRules)] : []),
    ...rules.flatMap((rule, index) => successRuleErrors(rule, spec.completions ?? 0, `${at}[${index}]`)),
  ];
}

function successRuleErrors(
  { succeededIndexes: indexes, succeededCount: count }: SuccessPolicyRule,
  completions: number,
  at: string,
): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (indexes === undefined && count === undefined) {
    errors.push(required(at, 'at least one of succeededCount or succeededIndexes must be specified'));
  }
  const counted = indexes === undefined ? 0 : countIndexes(indexes, completions);
  if (indexes !== undefined) {
    const path = `${at}.succeededIndexes`;
    if (Buffer.byteLength(indexes) > maxIndexesBytes) errors.push(tooLong(path, maxIndexesBytes));
    if (typeof counted === 'string') {
      errors.push(invalidValue(path, indexes, `error parsing succeededIndexes: ${counted}`));
    }
  }
  if (count !== undefined) {
    const path = `${at}.succeededCount`;
    const total = typeof counted === 'number' ? counted : 0;
    if (count < 0) errors.push(invalidValue(path, count, 'must be greater than or equal to 0'));
    if (count > completions) {
      const detail = `must be less than or equal to ${completions} (the number of specified completions)`;
      errors.push(invalidValue(path, count, detail));
    }
    if (indexes !== undefined && count > total) {
      const detail = `must be less than or equal to ${total} (the number of indexes in the specified succeededIndexes field)`;
      errors.push(invalidValue(path, count, detail));
    }
  }
  return errors;
}
