import type { FieldError } from '../../field-errors.ts';
import { forbiddenField, invalidValue, required } from '../../field-errors.ts';
import { labelValueErrors, qualifiedNameErrors } from '../../names.ts';
import type { Question } from './attributes.ts';

type Selector = NonNullable<NonNullable<Question['resourceAttributes']>['labelSelector']>;
type Requirement = NonNullable<Selector['requirements']>[number];

/** What is wrong with the selectors of a question; comes after what is wrong with its subject. */
export function selectorErrors({ resourceAttributes: resource }: Question): FieldError[] {
  const path = 'spec.resourceAttributes';
  return [
    ...errorsOf(`${path}.fieldSelector`, resource?.fieldSelector, fieldErrors),
    ...errorsOf(`${path}.labelSelector`, resource?.labelSelector, labelErrors),
  ];
}

function errorsOf(
  path: string,
  selector: Selector | undefined,
  requirementErrors: (path: string, requirement: Requirement) => readonly FieldError[],
): FieldError[] {
  if (selector === undefined) return [];
  const { rawSelector = '', requirements = [] } = selector;
  const errors: FieldError[] = [];
  if (rawSelector !== '' && requirements.length > 0) {
    errors.push(invalidValue(`${path}.rawSelector`, rawSelector, 'may not specified at the same time as requirements'));
  }
  if (rawSelector === '' && requirements.length === 0) {
    errors.push(required(`${path}.requirements`, `when ${path} is specified, requirements or rawSelector is required`));
  }
  requirements.forEach((requirement, index) => {
    const at = `${path}.requirements[${index}]`;
    errors.push(...valuesErrors(at, requirement), ...requirementErrors(at, requirement));
  });
  return errors;
}

/** Operators that are not known may come to be, and are let through. */
function valuesErrors(path: string, { operator, values = [] }: Requirement): readonly FieldError[] {
  if (operator === 'In' || operator === 'NotIn') {
    const detail = "must be specified when `operator` is 'In' or 'NotIn'";
    return values.length === 0 ? [required(`${path}.values`, detail)] : [];
  }
  if (operator !== 'Exists' && operator !== 'DoesNotExist') return [];
  const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
  return values.length === 0 ? [] : [forbiddenField(`${path}.values`, detail)];
}

const fieldErrors = (path: string, { key }: Requirement): readonly FieldError[] =>
  key === '' ? [required(`${path}.key`, 'must be specified')] : [];

const labelErrors = (path: string, { key, values = [] }: Requirement): readonly FieldError[] => [
  ...qualifiedNameErrors(key).map((problem) => invalidValue(`${path}.key`, key, problem)),
  ...values.flatMap((value, index) =>
    labelValueErrors(value).map((problem) => invalidValue(`${path}.values[${index}]`, value, problem)),
  ),
];
