// A short way to write roles and bindings down: words in a string, split at spaces.

import type { Subject } from '../../../../api/kinds/rbac/binding.ts';
import type { ClusterRole } from '../../../../api/kinds/rbac/clusterrole/kind.ts';
import type { ClusterRoleBinding } from '../../../../api/kinds/rbac/clusterrolebinding/kind.ts';
import { rbacGroup } from '../../../../api/kinds/rbac/group.ts';
import type { PolicyRule } from '../../../../api/kinds/rbac/policy-rule.ts';
import type { ApiObject } from '../../../../api/metadata.ts';

/** Set to "false" by an administrator, it keeps the server from completing a default role or binding. */
export const autoupdateAnnotation = 'rbac.authorization.kubernetes.io/autoupdate';

const metadataOf = (name: string, labels: Readonly<Record<string, string>> = {}): ClusterRole['metadata'] => ({
  name,
  labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
  annotations: { [autoupdateAnnotation]: 'true' },
});

const words = (text: string): readonly string[] => text.split(' ');

export const read = 'get list watch';
export const change = 'create delete deletecollection patch update';

/** Verbs on resources of one group, or of several with `|` between them; '' is the core group. */
export const on = (groups: string, resources: string, verbs: string): PolicyRule => ({
  verbs: words(verbs),
  apiGroups: groups.split('|'),
  resources: words(resources),
});

/** A rule for one object. */
export const named = (rule: PolicyRule, name: string): PolicyRule => ({ ...rule, resourceNames: [name] });

/** GET of paths outside the resources. */
export const getting = (paths: string): PolicyRule => ({ verbs: ['get'], nonResourceURLs: words(paths) });

/** A role with rules of its own. `into` are the roles that it becomes part of: view, edit, admin. */
export const role = (name: string, rules: readonly PolicyRule[], into: readonly string[] = []): ClusterRole => ({
  metadata: metadataOf(name, aggregateLabels(into)),
  rules,
});

/** A role made of those that are labelled to become part of it. */
export const aggregated = (name: string, into: readonly string[] = []): ClusterRole => ({
  metadata: metadataOf(name, aggregateLabels(into)),
  rules: null,
  aggregationRule: { clusterRoleSelectors: [{ matchLabels: aggregateLabels([name]) }] },
});

const aggregateLabels = (into: readonly string[]): Record<string, string> =>
  Object.fromEntries(into.map((name) => [`rbac.authorization.k8s.io/aggregate-to-${name}`, 'true']));

/** Gives a role to somebody; the binding has the role's name. */
export const binding = (
  name: string,
  subjects: readonly Subject[],
  kind: 'Role' | 'ClusterRole' = 'ClusterRole',
): ClusterRoleBinding => ({
  metadata: metadataOf(name),
  subjects,
  roleRef: { apiGroup: rbacGroup, kind, name },
});

/** The same in one namespace. */
export const local = <T extends ApiObject>(namespace: string, object: T): T => ({
  ...object,
  metadata: { ...object.metadata, namespace },
});

export const group = (name: string): Subject => ({ kind: 'Group', apiGroup: rbacGroup, name });
export const user = (name: string): Subject => ({ kind: 'User', apiGroup: rbacGroup, name });
