import { createdAtColumn, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, required } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { labelSelector, objectSchema } from '../../../metadata.ts';
import { pathSegmentName } from '../../../names.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, list, optional, pointer, struct } from '../../../schema/schema.ts';
import { labelSelectorErrors } from '../../apps/validate-selector.ts';
import { rbacGroup, rbacSchemas } from '../group.ts';
import { policyRule, rulesErrors } from '../policy-rule.ts';

const aggregationRule = struct(`${rbacSchemas}.AggregationRule`, 'Which roles a role is made of.', {
  clusterRoleSelectors: optional(1, list(labelSelector), 'The rules of every ClusterRole that one of these selects.'),
});

/** What may be done in the whole cluster, or in the namespaces where a RoleBinding gives it. */
const clusterRole = objectSchema(
  `${rbacSchemas}.ClusterRole`,
  'What may be done in the cluster, or in the namespaces where it is bound.',
  {
    rules: always(2, list(policyRule), 'What the role allows.'),
    aggregationRule: pointer(3, aggregationRule, 'If set, the rules are those of the roles it selects.'),
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
  columns: [nameColumn, createdAtColumn],
  nameErrors: pathSegmentName,
  validateCreate: validate,
  validateUpdate: validate,
});
