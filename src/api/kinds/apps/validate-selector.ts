import type { FieldError } from '../../field-errors.ts';
import { forbiddenField, invalidValue, required } from '../../field-errors.ts';
import { labelValueErrors, qualifiedNameErrors } from '../../names.ts';
import type { LabelSelector } from './selector.ts';

/** What is wrong with a label selector at `path`; an empty one is fine here. */
export function labelSelectorErrors(path: string, selector: LabelSelector): readonly FieldError[] {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return [
    ...Object.entries(matchLabels).flatMap(([key, value]) => [
      ...qualifiedNameErrors(key).map((problem) => invalidValue(`${path}.matchLabels`, key, problem)),
      ...labelValueErrors(value).map((problem) => invalidValue(`${path}.matchLabels`, value, problem)),
    ]),
    ...matchExpressions.flatMap((expression, index) =>
      expressionErrors(`${path}.matchExpressions[${index}]`, expression),
    ),
  ];
}

type Expression = NonNullable<LabelSelector['matchExpressions']>[number];

function expressionErrors(path: string, { key, operator, values = [] }: Expression): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) {
      errors.push(required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
    }
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0) {
      errors.push(
        forbiddenField(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
      );
    }
  } else errors.push(invalidValue(`${path}.operator`, operator, 'not a valid selector operator'));
  errors.push(...qualifiedNameErrors(key).map((problem) => invalidValue(`${path}.key`, key, problem)));
  return errors;
}
