import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import { pathSegmentName } from '../../../names.ts';
import type { Infer } from '../../../schema/infer.ts';
import { bindingColumns, bindingDefaults, bindingErrors, bindingFields, roleChangeErrors } from '../binding.ts';
import { rbacGroup, rbacSchemas } from '../policy-rule.ts';

const roleBinding = objectSchema(
  `${rbacSchemas}.RoleBinding`,
  'Grants a Role or a ClusterRole to users in its namespace.',
  bindingFields,
);

export type RoleBinding = Infer<typeof roleBinding>;

const roleKinds = ['Role', 'ClusterRole'];

/** RoleBinding of rbac.authorization.k8s.io/v1. */
export const roleBindingKind = defineKind<RoleBinding>({
  group: rbacGroup,
  version: 'v1',
  kind: 'RoleBinding',
  plural: 'rolebindings',
  namespaced: true,
  schema: roleBinding,
  createOnUpdate: true,
  columns: bindingColumns,
  nameErrors: pathSegmentName,
  applyDefaults: bindingDefaults,
  validateCreate: (binding) => bindingErrors(binding, roleKinds),
  validateUpdate: (next, old) => [...bindingErrors(next, roleKinds), ...roleChangeErrors(next, old)],
});
