import type { ClusterRole } from '../../../../api/kinds/rbac/clusterrole/kind.ts';
import { clusterRoleKind } from '../../../../api/kinds/rbac/clusterrole/kind.ts';
import type { ClusterRoleBinding } from '../../../../api/kinds/rbac/clusterrolebinding/kind.ts';
import { clusterRoleBindingKind } from '../../../../api/kinds/rbac/clusterrolebinding/kind.ts';
import type { RoleBinding } from '../../../../api/kinds/rbac/rolebinding/kind.ts';
import { roleBindingKind } from '../../../../api/kinds/rbac/rolebinding/kind.ts';
import type { Role } from '../../../../api/kinds/rbac/role/kind.ts';
import { roleKind } from '../../../../api/kinds/rbac/role/kind.ts';
import type { ApiObject, ObjectMeta } from '../../../../api/metadata.ts';
import { ensureObject } from '../../../bootstrap/bootstrap.ts';
import type { ServerContext } from '../../../context.ts';
import type { Binding, Subject } from '../../../../api/kinds/rbac/binding.ts';
import { equalJson } from '../../../../api/schema/equal-json.ts';
import { uncovered } from '../covers.ts';
import { fairleadBindings, fairleadRoles, leaseBinding, leaseRole } from './fairlead.ts';
import {
  authenticationReaderBinding,
  authenticationReaderRole,
  kubernetesBindings,
  kubernetesRoles,
} from './kubernetes.ts';
import { autoupdateAnnotation } from './role-table.ts';

/** Creates missing default roles and bindings, and reconciles existing ones. */
export async function ensureDefaultRoles(context: ServerContext): Promise<void> {
  // Concurrently, so that the store writes them in one batch.
  await Promise.all([
    ...[...kubernetesRoles, ...fairleadRoles].map((standard) =>
      ensureObject(context, clusterRoleKind, standard, (old) => reconcileRole(old as ClusterRole, standard)),
    ),
    ...[...kubernetesBindings, ...fairleadBindings].map((standard) =>
      ensureObject(context, clusterRoleBindingKind, standard, (old) =>
        reconcileBinding(old as ClusterRoleBinding, standard),
      ),
    ),
    ...[leaseRole, authenticationReaderRole].map((standard) =>
      ensureObject(context, roleKind, standard, (old) => reconcileRole(old as Role, standard)),
    ),
    ...[leaseBinding, authenticationReaderBinding].map((standard) =>
      ensureObject(context, roleBindingKind, standard, (old) => reconcileBinding(old as RoleBinding, standard)),
    ),
  ]);
}

/** Adds missing rules, labels and annotations of the default role and removes nothing. Returns the same object if complete. */
export function reconcileRole<T extends Role | ClusterRole>(existing: T, standard: T): T {
  if (isUnmanaged(existing)) return existing;
  const metadata = completeMetadata(existing.metadata, standard.metadata);
  if ('aggregationRule' in standard) return completeAggregation(existing, standard, metadata);
  const held = existing.rules ?? [];
  const missing = (standard.rules ?? []).filter((rule) => uncovered(held, [rule]).length > 0);
  if (missing.length === 0 && metadata === existing.metadata) return existing;
  return { ...existing, metadata, rules: [...held, ...missing] };
}

/** Adds missing subjects of the default binding. A binding to another role is left unchanged. */
export function reconcileBinding<T extends Binding>(existing: T, standard: T): T {
  if (isUnmanaged(existing) || !equalJson(existing.roleRef, standard.roleRef)) return existing;
  const metadata = completeMetadata(existing.metadata, standard.metadata);
  const held = existing.subjects ?? [];
  const missing = (standard.subjects ?? []).filter((subject) => !held.some((other) => isSame(subject, other)));
  if (missing.length === 0 && metadata === existing.metadata) return existing;
  return { ...existing, metadata, subjects: [...held, ...missing] };
}

/** Whether an administrator has disabled reconciliation. */
const isUnmanaged = ({ metadata }: ApiObject): boolean => metadata.annotations?.[autoupdateAnnotation] === 'false';

const isSame = (a: Subject, b: Subject): boolean =>
  a.kind === b.kind && a.name === b.name && (a.namespace ?? '') === (b.namespace ?? '');

/** The rules of an aggregated role come from other roles and are not reconciled. */
function completeAggregation<T extends ClusterRole>(existing: T, standard: ClusterRole, metadata: ObjectMeta): T {
  const held = existing.aggregationRule?.clusterRoleSelectors ?? [];
  const wanted = standard.aggregationRule?.clusterRoleSelectors ?? [];
  const missing = wanted.filter((selector) => !held.some((other) => equalJson(selector, other)));
  if (missing.length === 0 && metadata === existing.metadata) return existing;
  return { ...existing, metadata, aggregationRule: { clusterRoleSelectors: [...held, ...missing] } };
}

/** Existing labels and annotations keep their values. */
function completeMetadata(existing: ObjectMeta, standard: ObjectMeta): ObjectMeta {
  const { labels = {}, annotations = {} } = existing;
  const lacks = (held: object, wanted: object = {}): boolean =>
    Object.keys(wanted).some((key) => !Object.hasOwn(held, key));
  if (!lacks(labels, standard.labels) && !lacks(annotations, standard.annotations)) return existing;
  return {
    ...existing,
    labels: { ...standard.labels, ...labels },
    annotations: { ...standard.annotations, ...annotations },
  };
}
