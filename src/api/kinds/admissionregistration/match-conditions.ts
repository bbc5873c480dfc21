import type { FieldError } from '../../field-errors.ts';
import { duplicate, invalidValue, required, tooMany } from '../../field-errors.ts';
import { qualifiedNameErrors } from '../../names.ts';
import type { Declared } from './expressions.ts';
import { compileAdmission } from './expressions.ts';
import type { MatchCondition } from './webhook-schema.ts';

const maxConditions = 64;

/** Validation errors of match conditions; those that are stored already are not compiled again. */
export function matchConditionErrors(
  path: string,
  conditions: readonly MatchCondition[],
  { declared = {}, stored = [] }: { readonly declared?: Declared; readonly stored?: readonly MatchCondition[] } = {},
): FieldError[] {
  const names = new Set<string>();
  const known = new Set(stored.map(({ expression }) => expression));
  const errors = conditions.slice(0, maxConditions).flatMap(({ name, expression }, index) => {
    const isRepeated = name !== '' && names.has(name);
    names.add(name);
    const nameErrors =
      name === ''
        ? [required(`${path}[${index}].name`)]
        : qualifiedNameErrors(name).map((problem) => invalidValue(`${path}[${index}].name`, name, problem));
    return [
      ...(known.has(expression)
        ? []
        : expressionErrors(`${path}[${index}].expression`, expression.trim(), { ...declared, authorizer: true })),
      ...nameErrors,
      ...(isRepeated ? [duplicate(`${path}[${index}].name`, name)] : []),
    ];
  });
  return conditions.length > maxConditions ? [tooMany(path, conditions.length, maxConditions), ...errors] : errors;
}

function expressionErrors(path: string, expression: string, declared: Declared): FieldError[] {
  if (expression === '') return [required(path)];
  const { problem } = compileAdmission(expression, declared, ['bool']);
  return problem === undefined ? [] : [invalidValue(path, expression, problem)];
}
