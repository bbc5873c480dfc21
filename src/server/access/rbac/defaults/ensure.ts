import { isStatusError } from '../../../../api/errors.ts';
import type { Kind } from '../../../../api/kind.ts';
import type { ClusterRole } from '../../../../api/kinds/rbac/clusterrole/kind.ts';
import { clusterRoleKind } from '../../../../api/kinds/rbac/clusterrole/kind.ts';
import type { ClusterRoleBinding } from '../../../../api/kinds/rbac/clusterrolebinding/kind.ts';
import { clusterRoleBindingKind } from '../../../../api/kinds/rbac/clusterrolebinding/kind.ts';
import type { RoleBinding } from '../../../../api/kinds/rbac/rolebinding/kind.ts';
import { roleBindingKind } from '../../../../api/kinds/rbac/rolebinding/kind.ts';
import type { Role } from '../../../../api/kinds/rbac/role/kind.ts';
import { roleKind } from '../../../../api/kinds/rbac/role/kind.ts';
import type { ApiObject } from '../../../../api/metadata.ts';
import type { ServerContext } from '../../../context.ts';
import type { Resource } from '../../../resource.ts';
import { createObject } from '../../../verbs/create.ts';
import { updateObject } from '../../../verbs/update-object.ts';
import { serverRequest } from '../../../verbs/write-request.ts';
import { reconcileBinding, reconcileRole } from './complete.ts';
import { fairleadBindings, fairleadRoles, leaseBinding, leaseRole } from './fairlead.ts';
import { kubernetesBindings, kubernetesRoles } from './kubernetes.ts';

/** Creates missing default roles and bindings, and reconciles existing ones. */
export async function ensureDefaultRoles(context: ServerContext): Promise<void> {
  // Concurrently, so that the store writes them in one batch.
  await Promise.all([
    ...[...kubernetesRoles, ...fairleadRoles].map((standard) =>
      ensure(context, clusterRoleKind, standard, (old) => reconcileRole(old as ClusterRole, standard)),
    ),
    ...[...kubernetesBindings, ...fairleadBindings].map((standard) =>
      ensure(context, clusterRoleBindingKind, standard, (old) => reconcileBinding(old as ClusterRoleBinding, standard)),
    ),
    ensure(context, roleKind, leaseRole, (old) => reconcileRole(old as Role, leaseRole)),
    ensure(context, roleBindingKind, leaseBinding, (old) => reconcileBinding(old as RoleBinding, leaseBinding)),
  ]);
}

async function ensure(
  context: ServerContext,
  kind: Kind,
  standard: ApiObject,
  complete: (old: ApiObject) => ApiObject,
): Promise<void> {
  const resource: Resource = { kind, cache: context.watchCache.of(kind) };
  const { name = '', namespace = '' } = standard.metadata;
  const request = serverRequest({ namespace, name });
  const item = resource.cache.get(resource.cache.key(namespace, name));
  if (item === undefined) {
    await createObject(context, resource, request, standard).catch(ignoreExisting);
  } else if (item.problem === undefined && complete(item.object) !== item.object) {
    await updateObject(context, resource, request, { revise: complete });
  }
}

/** Another server over the same store may create the object first. */
function ignoreExisting(error: unknown): void {
  if (!isStatusError(error) || error.status.reason !== 'AlreadyExists') throw error;
}
