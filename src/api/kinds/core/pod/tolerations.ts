import type { FieldError } from '../../../field-errors.ts';
import { invalidAll, invalidValue, notSupported } from '../../../field-errors.ts';
import { labelValueErrors, qualifiedNameErrors } from '../../../names.ts';
import type { PodSpec } from './schema.ts';

export type Toleration = NonNullable<PodSpec['tolerations']>[number];

/** A toleration before its words are validated. */
type Words = Omit<Toleration, 'operator' | 'effect'> & { readonly operator?: string; readonly effect?: string };

/** Validation errors of tolerations at `path`. */
export const tolerationErrors = (tolerations: readonly Toleration[], path: string): readonly FieldError[] =>
  tolerations.flatMap((toleration, index) => errorsOf(toleration, `${path}[${index}]`));

function errorsOf({ key = '', operator = '', value = '', effect = '', ...rest }: Words, at: string): FieldError[] {
  const errors: FieldError[] = [];
  if (key !== '') errors.push(...invalidAll(`${at}.key`, key, qualifiedNameErrors(key)));
  if (key === '' && operator !== 'Exists') {
    const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    errors.push(invalidValue(`${at}.operator`, operator, detail));
  }
  if (rest.tolerationSeconds !== undefined && effect !== 'NoExecute') {
    errors.push(invalidValue(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"));
  }
  errors.push(...operatorErrors(operator, value, `${at}.operator`));
  if (effect !== '' && !effects.includes(effect)) errors.push(notSupported(`${at}.effect`, effect, effects));
  return errors;
}

const effects: readonly string[] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

function operatorErrors(operator: string, value: string, path: string): readonly FieldError[] {
  switch (operator) {
    case '':
    case 'Equal': {
      const problems = labelValueErrors(value);
      return problems.length === 0 ? [] : [invalidValue(path, value, problems.join(';'))];
    }
    case 'Exists':
      return value === '' ? [] : [invalidValue(path, value, "value must be empty when `operator` is 'Exists'")];
    case 'Lt':
    case 'Gt':
      return [notSupported(path, operator, ['Equal', 'Exists', 'Lt', 'Gt'])];
    default:
      return [notSupported(path, operator, ['Equal', 'Exists'])];
  }
}
