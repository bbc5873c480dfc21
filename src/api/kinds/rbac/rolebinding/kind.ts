import type { Binding } from '../binding.ts';
import { defineBinding } from '../binding.ts';

export type RoleBinding = Binding;

/** RoleBinding of rbac.authorization.k8s.io/v1. */
export const roleBindingKind = defineBinding(
  'RoleBinding',
  'Grants a Role or a ClusterRole to users in its namespace.',
  ['Role', 'ClusterRole'],
);
