import type { FieldError } from '../../field-errors.ts';
import { invalidValue, required } from '../../field-errors.ts';
import type { Infer } from '../../schema/infer.ts';
import { always, list, optional, string, struct } from '../../schema/schema.ts';
import { rbacSchemas } from './group.ts';

/** What a role allows: verbs on resources, or on paths outside the resources. */
export const policyRule = struct(
  `${rbacSchemas}.PolicyRule`,
  'Verbs that are allowed on resources or on other paths. Rules only ever add.',
  {
    verbs: always(1, list(string), 'What is allowed; * is everything.', { required: true }),
    apiGroups: optional(2, list(string), 'The groups of the resources; "" is the core group, * is all of them.'),
    resources: optional(
      3,
      list(string),
      'The resources; pods/log is a subresource, */scale that of any resource, * everything.',
    ),
    resourceNames: optional(4, list(string), 'The names of the objects; empty is all of them.'),
    nonResourceURLs: optional(
      5,
      list(string),
      'Paths outside the resources, in ClusterRoles only; * at the end stands for anything.',
    ),
  },
);

export type PolicyRule = Infer<typeof policyRule>;

/** What is wrong with the rules of a role. Only those of a ClusterRole may name paths outside the resources. */
export const rulesErrors = (rules: readonly PolicyRule[] | null, isNamespaced: boolean): readonly FieldError[] =>
  (rules ?? []).flatMap((rule, index) => ruleErrors(`rules[${index}]`, rule, isNamespaced));

function ruleErrors(path: string, rule: PolicyRule, isNamespaced: boolean): readonly FieldError[] {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const errors: FieldError[] = [];
  if ((verbs ?? []).length === 0) errors.push(required(`${path}.verbs`, 'verbs must contain at least one value'));
  if (nonResourceURLs.length > 0) {
    const refuse = (why: string): unknown => errors.push(invalidValue(`${path}.nonResourceURLs`, nonResourceURLs, why));
    if (isNamespaced) refuse('namespaced rules cannot apply to non-resource URLs');
    if (apiGroups.length + resources.length + resourceNames.length > 0) {
      refuse('rules cannot apply to both regular resources and non-resource URLs');
    }
    return errors;
  }
  if (apiGroups.length === 0) {
    errors.push(required(`${path}.apiGroups`, 'resource rules must supply at least one api group'));
  }
  if (resources.length === 0) {
    errors.push(required(`${path}.resources`, 'resource rules must supply at least one resource'));
  }
  return errors;
}
