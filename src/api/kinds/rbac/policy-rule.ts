import type { FieldError } from '../../field-errors.ts';
import { invalidValue, required } from '../../field-errors.ts';
import type { Infer } from '../../schema/infer.ts';
import { always, list, optional, string, struct } from '../../schema/schema.ts';

/** The API group of roles, bindings, and of users and groups as subjects. */
export const rbacGroup = 'rbac.authorization.k8s.io';
/** The prefix of the OpenAPI definitions of the group. */
export const rbacSchemas = 'io.k8s.api.rbac.v1';

export const policyRule = struct(
  `${rbacSchemas}.PolicyRule`,
  'Verbs that are allowed on resources or on non-resource URLs.',
  {
    verbs: always(1, list(string), 'The verbs; * is all.', { required: true }),
    apiGroups: optional(2, list(string), 'The groups of the resources; "" is the core group, * is all.'),
    resources: optional(
      3,
      list(string),
      'The resources; pods/log is a subresource, */scale the subresource of any resource, * all.',
    ),
    resourceNames: optional(4, list(string), 'The names of the objects; default: all.'),
    nonResourceURLs: optional(
      5,
      list(string),
      'Non-resource URLs, in ClusterRoles only; a * at the end matches any suffix.',
    ),
  },
);

export type PolicyRule = Infer<typeof policyRule>;

/** An empty list of rules is stored as null, as in Kubernetes. */
export const withoutEmptyRules = <T extends { readonly rules: readonly PolicyRule[] | null }>(role: T): T =>
  role.rules?.length === 0 ? { ...role, rules: null } : role;

/** Validation errors of the rules of a role. Only rules of a ClusterRole can have non-resource URLs. */
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
