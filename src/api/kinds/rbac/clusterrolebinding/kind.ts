import type { Binding } from '../binding.ts';
import { defineBinding } from '../binding.ts';

export type ClusterRoleBinding = Binding;

/** ClusterRoleBinding of rbac.authorization.k8s.io/v1. */
export const clusterRoleBindingKind = defineBinding(
  'ClusterRoleBinding',
  'Grants a ClusterRole to users in the whole cluster.',
  ['ClusterRole'],
);
