import type { FieldError } from '../field-errors.ts';
import { forbiddenField, invalidValue } from '../field-errors.ts';
import { hasRules, rulesOf } from './cel-rules.ts';
import type { JsonSchema, ValidationRule } from './json-schema.ts';
import { itemsOf, valuesOf } from './json-schema.ts';

/** Kubernetes' limits on the estimated cost of one rule, and of all rules of a schema. */
const maxRuleCost = 10_000_000;
const maxSchemaCost = 100_000_000;

interface Place {
  readonly path: string;
  readonly isResource: boolean;
  /** How often the schema occurs at most, as far as lists and maps above have limits. */
  readonly count: number | undefined;
  /** The part above whose old values cannot be found. */
  readonly uncorrelatable: string | undefined;
}

interface Costs {
  total: number;
  readonly rules: { readonly path: string; readonly cost: number }[];
}

/** The errors of CEL rules in the schema of a resource: they must compile, and not cost too much. */
export function celErrors(schema: JsonSchema, path: string): FieldError[] {
  const costs: Costs = { total: 0, rules: [] };
  const errors = errorsOf(schema, { path, isResource: true, count: 1, uncorrelatable: undefined }, costs);
  if (costs.total <= maxSchemaCost) return errors;
  const most = costs.rules.sort((left, right) => right.cost - left.cost).slice(0, 4);
  const why = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
  return [
    ...errors,
    ...most.filter(({ cost }) => cost > maxSchemaCost / 100).map((rule) => forbiddenField(rule.path, why)),
    forbiddenField(
      path,
      tooExpensive(
        'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema',
        costs.total,
        maxSchemaCost,
      ),
    ),
  ];
}

function tooExpensive(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const shown = factor > 100 ? 'more than 100x' : `${factor < 1.5 ? factor.toFixed(6) : factor.toFixed(1)}x`;
  return `${what} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}

function errorsOf(schema: JsonSchema, place: Place, costs: Costs): FieldError[] {
  if (!hasRules(schema)) return [];
  const { path, uncorrelatable } = place;
  const items = itemsOf(schema);
  const values = valuesOf(schema);
  const below = (inner: JsonSchema, step: string, change: Partial<Place>): FieldError[] =>
    errorsOf(
      inner,
      {
        ...place,
        path: `${path}.${step}`,
        isResource: inner['x-kubernetes-embedded-resource'] === true,
        ...change,
      },
      costs,
    );
  const times = (limit: number | undefined): number | undefined =>
    place.count === undefined || limit === undefined ? undefined : place.count * limit;
  const isKeyed = schema['x-kubernetes-list-type'] === 'map';
  return [
    ...ownErrors(schema, place, costs),
    ...(values === undefined ? [] : below(values, 'additionalProperties', { count: times(schema.maxProperties) })),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
      below(property, `properties[${name}]`, {}),
    ),
    ...(items === undefined
      ? []
      : below(items, 'items', {
          count: times(schema.maxItems),
          uncorrelatable: uncorrelatable ?? (isKeyed ? undefined : path),
        })),
  ];
}

/** A rule as Kubernetes prints it. */
const inGoOrder = (rule: ValidationRule): object => ({
  Rule: rule.rule,
  Message: rule.message ?? '',
  MessageExpression: rule.messageExpression ?? '',
  Reason: rule.reason ?? null,
  FieldPath: rule.fieldPath ?? '',
  OptionalOldSelf: rule.optionalOldSelf ?? null,
});

function ownErrors(schema: JsonSchema, { path, isResource, count, uncorrelatable }: Place, costs: Costs): FieldError[] {
  const total = (cost: number, maxCount: number): number => cost * (count ?? maxCount);
  return rulesOf(schema, isResource).flatMap((compiled, index): FieldError[] => {
    const { rule, program, problem, message, messageProblem, usesOldSelf, maxCount } = compiled;
    const at = `${path}.x-kubernetes-validations[${index}]`;
    const errors: FieldError[] = [];
    const observe = (field: string, cost: number, what: string): void => {
      costs.total += cost;
      costs.rules.push({ path: `${at}.${field}`, cost });
      if (cost > maxRuleCost) errors.push(forbiddenField(`${at}.${field}`, tooExpensive(what, cost, maxRuleCost)));
    };
    if (program !== undefined) observe('rule', total(program.cost, maxCount), 'estimated rule cost');
    if (problem !== undefined) errors.push(invalidValue(`${at}.rule`, inGoOrder(rule), problem));
    if (messageProblem !== undefined) {
      errors.push(
        invalidValue(
          `${at}.messageExpression`,
          inGoOrder(rule),
          `messageExpression ${messageProblem.replace(/^messageExpression /, '')}`,
        ),
      );
    }
    if (message !== undefined) observe('messageExpression', message.cost, 'estimated messageExpression cost');
    if (usesOldSelf && uncorrelatable !== undefined) {
      const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelatable}`;
      errors.push(invalidValue(`${at}.rule`, rule.rule, why));
    } else if (!usesOldSelf && program !== undefined && rule.optionalOldSelf !== undefined) {
      errors.push(
        invalidValue(`${at}.optionalOldSelf`, rule.optionalOldSelf, 'may not be set if oldSelf is not used in rule'),
      );
    }
    return errors;
  });
}
