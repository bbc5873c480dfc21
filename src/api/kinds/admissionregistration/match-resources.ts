// The writes to which an admission policy or a binding applies.

import type { FieldError } from '../../field-errors.ts';
import { duplicate, invalidValue, notSupported, required } from '../../field-errors.ts';
import { labelSelector } from '../../metadata.ts';
import { pathSegmentErrors } from '../../names.ts';
import type { Infer } from '../../schema/infer.ts';
import { list, oneOf, optional, pointer, struct } from '../../schema/schema.ts';
import { labelSelectorErrors } from '../../selectors/label-selector.ts';
import { ruleErrors } from './validate-rules.ts';
import { namedRule, registration } from './webhook-schema.ts';

export const matchResources = struct(
  `${registration}.MatchResources`,
  'Writes that any rule, both selectors and no excluding rule match.',
  {
    namespaceSelector: pointer(1, labelSelector, 'Selects by labels of the namespace; default: all.'),
    objectSelector: pointer(2, labelSelector, 'Selects by labels of the object, new or old; default: all.'),
    resourceRules: optional(
      3,
      list(namedRule),
      'Writes that match; a binding without rules matches all of its policy.',
    ),
    excludeResourceRules: optional(4, list(namedRule), 'Writes that do not match.'),
    matchPolicy: pointer(
      7,
      oneOf('Exact', 'Equivalent'),
      'Exact: rules match the version of the request. Equivalent (the default): rules also match other versions of the same objects.',
    ),
  },
);

export type MatchResources = Infer<typeof matchResources>;

type NamedRule = Infer<typeof namedRule>;

const withScope = (rules: readonly NamedRule[]): readonly NamedRule[] =>
  rules.map((rule) => ({ scope: '*' as const, ...rule }));

export const defaultedMatch = ({ resourceRules, excludeResourceRules, ...match }: MatchResources): MatchResources => ({
  matchPolicy: 'Equivalent',
  namespaceSelector: {},
  objectSelector: {},
  ...match,
  ...(resourceRules === undefined ? {} : { resourceRules: withScope(resourceRules) }),
  ...(excludeResourceRules === undefined ? {} : { excludeResourceRules: withScope(excludeResourceRules) }),
});

const policies: readonly string[] = ['Equivalent', 'Exact'];

export function matchErrors(path: string, match: MatchResources): FieldError[] {
  const { matchPolicy = '', namespaceSelector, objectSelector, resourceRules = [], excludeResourceRules = [] } = match;
  return [
    ...(policies.includes(matchPolicy) ? [] : [notSupported(`${path}.matchPolicy`, matchPolicy, policies)]),
    ...labelSelectorErrors(`${path}.namespaceSelector`, namespaceSelector ?? {}),
    ...labelSelectorErrors(`${path}.objectSelector`, objectSelector ?? {}),
    ...resourceRules.flatMap((rule, index) => namedRuleErrors(`${path}.resourceRules[${index}]`, rule)),
    ...excludeResourceRules.flatMap((rule, index) => namedRuleErrors(`${path}.excludeResourceRules[${index}]`, rule)),
  ];
}

function namedRuleErrors(path: string, rule: NamedRule): FieldError[] {
  const seen = new Set<string>();
  const nameErrors = (rule.resourceNames ?? []).flatMap((name, index) => {
    const at = `${path}.resourceNames[${index}]`;
    const repeated = seen.has(name) ? [duplicate(at, name)] : [];
    seen.add(name);
    return [...pathSegmentErrors(name).map((problem) => invalidValue(at, name, problem)), ...repeated];
  });
  return [...nameErrors, ...ruleErrors(path, rule)];
}

/** The error of a policy without rules: they also give its expressions a type. */
export const rulesErrors = (path: string, { resourceRules = [] }: MatchResources): FieldError[] =>
  resourceRules.length === 0 ? [required(`${path}.resourceRules`)] : [];

const mutatingOperations: readonly string[] = ['*', 'CONNECT', 'CREATE', 'UPDATE'];

/** The errors of operations whose objects a policy cannot change. */
export const mutatingOperationErrors = (path: string, { resourceRules = [] }: MatchResources): FieldError[] =>
  resourceRules.flatMap(({ operations = [] }) =>
    operations
      .filter((operation) => !mutatingOperations.includes(operation))
      .map((operation) => notSupported(`${path}.resourceRules.operations`, operation, mutatingOperations)),
  );
