// A compact notation for roles and bindings: lists are words in a string, separated by spaces.

import type { Subject } from '../../../../api/kinds/rbac/binding.ts';
import type { ClusterRole } from '../../../../api/kinds/rbac/clusterrole/kind.ts';
import type { ClusterRoleBinding } from '../../../../api/kinds/rbac/clusterrolebinding/kind.ts';
import { rbacGroup } from '../../../../api/kinds/rbac/policy-rule.ts';
import type { PolicyRule } from '../../../../api/kinds/rbac/policy-rule.ts';
import type { ApiObject } from '../../../../api/metadata.ts';

/** If an administrator sets it to "false", the server does not reconcile a default role or binding. */
export const autoupdateAnnotation = 'rbac.authorization.kubernetes.io/autoupdate';

const metadataOf = (name: string, labels: Readonly<Record<string, string>> = {}): ClusterRole['metadata'] => ({
  name,
  labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
  annotations: { [autoupdateAnnotation]: 'true' },
});

const words = (text: string): readonly string[] => text.split(' ');

export const read = 'get list watch';
export const change = 'create delete deletecollection patch update';

/** Verbs on resources of a group; several groups are separated by `|`, '' is the core group. */
export const on = (groups: string, resources: string, verbs: string): PolicyRule => ({
  verbs: words(verbs),
  apiGroups: groups.split('|'),
  resources: words(resources),
});

/** Limits a rule to one object. */
export const named = (rule: PolicyRule, name: string): PolicyRule => ({ ...rule, resourceNames: [name] });

/** GET of non-resource paths. */
export const getting = (paths: string): PolicyRule => ({ verbs: ['get'], nonResourceURLs: words(paths) });

/** A role that is aggregated into the roles in `into`: view, edit, admin. */
export const role = (name: string, rules: readonly PolicyRule[], into: readonly string[] = []): ClusterRole => ({
  metadata: metadataOf(name, aggregateLabels(into)),
  rules,
});

/** An aggregated role. */
export const aggregated = (name: string, into: readonly string[] = []): ClusterRole => ({
  metadata: metadataOf(name, aggregateLabels(into)),
  rules: null,
  aggregationRule: { clusterRoleSelectors: [{ matchLabels: aggregateLabels([name]) }] },
});

const aggregateLabels = (into: readonly string[]): Record<string, string> =>
  Object.fromEntries(into.map((name) => [`rbac.authorization.k8s.io/aggregate-to-${name}`, 'true']));

/** A binding with the name of its role. */
export const binding = (
  name: string,
  subjects: readonly Subject[],
  kind: 'Role' | 'ClusterRole' = 'ClusterRole',
): ClusterRoleBinding => ({
  metadata: metadataOf(name),
  subjects,
  roleRef: { apiGroup: rbacGroup, kind, name },
});

/** Puts an object into a namespace. */
export const inNamespace = <T extends ApiObject>(namespace: string, object: T): T => ({
  ...object,
  metadata: { ...object.metadata, namespace },
});

export const group = (name: string): Subject => ({ kind: 'Group', apiGroup: rbacGroup, name });
export const user = (name: string): Subject => ({ kind: 'User', apiGroup: rbacGroup, name });
