import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidAll, invalidValue, required } from '../../../field-errors.ts';
import { dnsSubdomainErrors, labelValueErrors, qualifiedNameErrors } from '../../../names.ts';
import type { Infer } from '../../../schema/infer.ts';
import type { nodeSelector } from '../pod/affinity.ts';

type NodeSelector = Infer<typeof nodeSelector>;
type Term = NonNullable<NodeSelector['nodeSelectorTerms']>[number];
type Requirement = NonNullable<Term['matchExpressions']>[number];

/** Validation errors of a node selector at `path`. */
export function nodeSelectorErrors({ nodeSelectorTerms }: NodeSelector, path: string): readonly FieldError[] {
  const terms = nodeSelectorTerms ?? [];
  const at = `${path}.nodeSelectorTerms`;
  if (terms.length === 0) return [required(at, 'must have at least one node selector term')];
  return terms.flatMap((term, index) => nodeSelectorTermErrors(term, `${at}[${index}]`, valueErrors));
}

type ValueErrors = (values: readonly string[], path: string) => readonly FieldError[];

/** Validation errors of a term at `path`; a preference may have values that no label can have. */
export const nodeSelectorTermErrors = (
  { matchExpressions = [], matchFields = [] }: Term,
  path: string,
  errorsOfValues: ValueErrors = () => [],
): readonly FieldError[] => [
  ...matchExpressions.flatMap((each, item) => {
    const at = `${path}.matchExpressions[${item}]`;
    return [...labelErrors(each, at), ...errorsOfValues(each.values ?? [], `${at}.values`)];
  }),
  ...matchFields.flatMap((each, item) => fieldErrors(each, `${path}.matchFields[${item}]`)),
];

const valueErrors: ValueErrors = (values, path) =>
  values.flatMap((value, index) => invalidAll(`${path}[${index}]`, value, labelValueErrors(value)));

const notAnOperator = 'not a valid selector operator';

function labelErrors({ key, operator, values = [] }: Requirement, at: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  switch (operator as string) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) {
        errors.push(required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
      }
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) {
        const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
        errors.push(forbiddenField(`${at}.values`, detail));
      }
      break;
    case 'Gt':
    case 'Lt':
      if (values.length !== 1) {
        errors.push(required(`${at}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
      }
      break;
    default:
      errors.push(invalidValue(`${at}.operator`, operator, notAnOperator));
  }
  errors.push(...invalidAll(`${at}.key`, key, qualifiedNameErrors(key)));
  return errors;
}

/** The only field that can be selected is the name. */
function fieldErrors({ key, operator, values = [] }: Requirement, at: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (operator !== 'In' && operator !== 'NotIn') errors.push(invalidValue(`${at}.operator`, operator, notAnOperator));
  else if (values.length !== 1) {
    const detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    errors.push(required(`${at}.values`, detail));
  }
  if (key !== 'metadata.name') errors.push(invalidValue(`${at}.key`, key, 'not a valid field selector key'));
  else {
    for (const [index, value] of values.entries()) {
      errors.push(...invalidAll(`${at}.values[${index}]`, value, dnsSubdomainErrors(value)));
    }
  }
  return errors;
}
