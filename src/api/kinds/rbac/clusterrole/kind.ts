import { createdAtColumn, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, required } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { labelSelector, objectSchema } from '../../../metadata.ts';
import { pathSegmentName } from '../../../names.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, list, optional, pointer, struct } from '../../../schema/schema.ts';
import { labelSelectorErrors } from '../../../selectors/label-selector.ts';
import { policyRule, rulesErrors, rbacGroup, rbacSchemas, withoutEmptyRules } from '../policy-rule.ts';

const aggregationRule = struct(`${rbacSchemas}.AggregationRule`, 'Selects the roles that are aggregated.', {
  clusterRoleSelectors: optional(1, list(labelSelector), 'Selectors of the ClusterRoles whose rules are included.'),
});

const clusterRole = objectSchema(
  `${rbacSchemas}.ClusterRole`,
  'Rules that can be granted in the cluster or in namespaces.',
  {
    rules: always(2, list(policyRule), 'The rules.'),
    aggregationRule: pointer(3, aggregationRule, 'If set, the rules are those of the selected roles.'),
  },
);

export type ClusterRole = Infer<typeof clusterRole>;

function validate({ rules, aggregationRule: aggregation }: ClusterRole): readonly FieldError[] {
  return [...rulesErrors(rules, false), ...(aggregation === undefined ? [] : aggregationErrors(aggregation))];
}

function aggregationErrors({ clusterRoleSelectors: selectors = [] }: Infer<typeof aggregationRule>): FieldError[] {
  const path = 'aggregationRule.clusterRoleSelectors';
  if (selectors.length === 0) {
    return [required(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil')];
  }
  return selectors.flatMap((selector, index) => {
    const at = `${path}[${index}]`;
    const errors = labelSelectorErrors(at, selector);
    return errors.length === 0 ? [] : [...errors, invalidValue(at, null, 'invalid label selector.')];
  });
}

/** ClusterRole of rbac.authorization.k8s.io/v1. */
export const clusterRoleKind = defineKind<ClusterRole>({
  group: rbacGroup,
  version: 'v1',
  kind: 'ClusterRole',
  plural: 'clusterroles',
  namespaced: false,
  schema: clusterRole,
  createOnUpdate: true,
  applyDefaults: withoutEmptyRules,
  columns: [nameColumn, createdAtColumn],
  nameErrors: pathSegmentName,
  validateCreate: validate,
  validateUpdate: validate,
});
