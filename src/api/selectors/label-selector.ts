// Label selectors in objects: matchLabels and matchExpressions.
import type { FieldError } from '../field-errors.ts';
import { forbiddenField, invalidAll, invalidValue, required } from '../field-errors.ts';
import { labelValueErrors, qualifiedNameErrors } from '../names.ts';
import type { labelSelector } from '../metadata.ts';
import type { Infer } from '../schema/infer.ts';
import type { Requirement } from './labels.ts';
import { compareText } from '../order.ts';

export type LabelSelector = Infer<typeof labelSelector>;

const operators: Readonly<Record<string, Requirement['operator']>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: 'absent',
};

/** The requirements of a selector, sorted by key; undefined if an operator is unknown. */
export function requirementsOf({
  matchLabels = {},
  matchExpressions = [],
}: LabelSelector): readonly Requirement[] | undefined {
  const requirements: Requirement[] = Object.entries(matchLabels).map(([key, value]) => ({
    key,
    operator: 'in',
    values: new Set([value]),
  }));
  for (const { key, operator, values = [] } of matchExpressions) {
    const known = operators[operator];
    if (known === undefined) return undefined;
    requirements.push({ key, operator: known, values: new Set(values) });
  }
  return requirements.sort((a, b) => compareText(a.key, b.key));
}

/** A selector as `kubectl` prints it: `app=web,tier in (a,b),!canary`. */
export function selectorText(selector: LabelSelector | undefined): string {
  if (selector === undefined) return '<none>';
  const equal = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => ({ key, text: `${key}=${value}` }));
  const others = (selector.matchExpressions ?? []).map(({ key, operator, values }) => ({
    key,
    text: expressionText(key, operator, values ?? []),
  }));
  const sorted = [...equal, ...others].sort((a, b) => compareText(a.key, b.key));
  return sorted.length === 0 ? '<none>' : sorted.map(({ text }) => text).join(',');
}

function expressionText(key: string, operator: string, values: readonly string[]): string {
  const list = `(${[...values].sort().join(',')})`;
  switch (operator) {
    case 'In':
      return `${key} in ${list}`;
    case 'NotIn':
      return `${key} notin ${list}`;
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
    default:
      return '<error>';
  }
}

/**
 * Validation errors of a label selector at `path`; an empty selector is valid here. Invalid values in expressions are
 * accepted if the selector `old`, which it replaces, has some.
 */
export function labelSelectorErrors(path: string, selector: LabelSelector, old?: LabelSelector): readonly FieldError[] {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const hadInvalid = (old?.matchExpressions ?? []).some((expression) => valueErrors('', expression).length > 0);
  return [
    ...Object.entries(matchLabels).flatMap(([key, value]) => [
      ...invalidAll(`${path}.matchLabels`, key, qualifiedNameErrors(key)),
      ...invalidAll(`${path}.matchLabels`, value, labelValueErrors(value)),
    ]),
    ...matchExpressions.flatMap((expression, index) => {
      const at = `${path}.matchExpressions[${index}]`;
      return [...expressionErrors(at, expression), ...(hadInvalid ? [] : valueErrors(at, expression))];
    }),
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
  errors.push(...invalidAll(`${path}.key`, key, qualifiedNameErrors(key)));
  return errors;
}

const valueErrors = (path: string, { values = [] }: Expression): readonly FieldError[] =>
  values.flatMap((value, index) => invalidAll(`${path}.values[${index}]`, value, labelValueErrors(value)));
