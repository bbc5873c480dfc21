import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import { pathSegmentName } from '../../../names.ts';
import type { Infer } from '../../../schema/infer.ts';
import { bindingColumns, bindingDefaults, bindingErrors, bindingFields, roleChangeErrors } from '../binding.ts';
import { rbacGroup, rbacSchemas } from '../policy-rule.ts';

const clusterRoleBinding = objectSchema(
  `${rbacSchemas}.ClusterRoleBinding`,
  'Grants a ClusterRole to users in the whole cluster.',
  bindingFields,
);

export type ClusterRoleBinding = Infer<typeof clusterRoleBinding>;

const roleKinds = ['ClusterRole'];

/** ClusterRoleBinding of rbac.authorization.k8s.io/v1. */
export const clusterRoleBindingKind = defineKind<ClusterRoleBinding>({
  group: rbacGroup,
  version: 'v1',
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  namespaced: false,
  schema: clusterRoleBinding,
  createOnUpdate: true,
  columns: bindingColumns,
  nameErrors: pathSegmentName,
  applyDefaults: bindingDefaults,
  validateCreate: (binding) => bindingErrors(binding, roleKinds),
  validateUpdate: (next, old) => [...bindingErrors(next, roleKinds), ...roleChangeErrors(next, old)],
});
