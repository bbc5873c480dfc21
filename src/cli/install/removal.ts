// Finds and deletes what `fairlead install` and `fairlead mcs join` created.
import type { Kind } from '../../api/kind.ts';
import { clusterMemberKind } from '../../api/kinds/multicluster/clustermember/kind.ts';
import { leaseKind } from '../../api/kinds/coordination/lease/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Client } from '../../client/client.ts';
import { hasStatusCode } from '../../client/transport.ts';
import { FatalError } from '../errors.ts';
import { versionsOf } from './definitions.ts';
import { kindOf } from './kinds.ts';
import { installedSelector } from './manifest.ts';

/** The kinds of all installed objects, in the order in which they are deleted. */
const removed: readonly Kind[] = [
  ['monitoring.coreos.com/v1', 'ServiceMonitor'],
  ['policy/v1', 'PodDisruptionBudget'],
  ['apps/v1', 'Deployment'],
  ['apps/v1', 'DaemonSet'],
  ['v1', 'Service'],
  ['v1', 'Secret'],
  ['rbac.authorization.k8s.io/v1', 'RoleBinding'],
  ['rbac.authorization.k8s.io/v1', 'Role'],
  ['rbac.authorization.k8s.io/v1', 'ClusterRoleBinding'],
  ['rbac.authorization.k8s.io/v1', 'ClusterRole'],
  ['v1', 'ServiceAccount'],
].map(([apiVersion = '', kind = '']) => kindOf({ apiVersion, kind }));

const definitionKind = kindOf({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' });
const namespaceKind = kindOf({ apiVersion: 'v1', kind: 'Namespace' });

/** What was deleted and what was kept, for people. */
export interface Removal {
  readonly deleted: readonly string[];
  readonly kept: readonly string[];
}

/** Deletes everything. Without `isForced`, members and definitions with objects stay. */
export async function removeAll(client: Client, { isForced }: { readonly isForced: boolean }): Promise<Removal> {
  const [deleted, kept]: [string[], string[]] = [[], []];
  const remove = async (kind: Kind, object: ApiObject): Promise<void> => {
    const { namespace, name = '' } = object.metadata;
    await client.delete(kind, { namespace, name }, { propagationPolicy: 'Background' });
    deleted.push(`${kind.kind} ${name}${namespace === undefined ? '' : ` in ${namespace}`}`);
  };
  await removeMembers(client, { isForced, remove });
  const accounts = await listed(client, kindOf({ apiVersion: 'v1', kind: 'ServiceAccount' }), installedSelector);
  for (const kind of removed)
    for (const object of await listed(client, kind, installedSelector)) await remove(kind, object);
  for (const { metadata } of accounts) await removeLease(client, metadata.namespace ?? '', metadata.name ?? '');
  for (const definition of await listed(client, definitionKind, installedSelector)) {
    const { name = '' } = definition.metadata;
    const count = await countOf(client, name);
    if (count === 0 || isForced) await remove(definitionKind, definition);
    else kept.push(`CustomResourceDefinition ${name}, which has ${count} objects`);
  }
  for (const namespace of await listed(client, namespaceKind, installedSelector))
    await remove(namespaceKind, namespace);
  return { deleted, kept };
}

/** Without its controller, nothing would withdraw a member or remove its finalizer. */
async function removeMembers(
  client: Client,
  {
    isForced,
    remove,
  }: { readonly isForced: boolean; readonly remove: (kind: Kind, object: ApiObject) => Promise<void> },
): Promise<void> {
  const members = await listed(client, clusterMemberKind);
  if (members.length > 0 && !isForced) {
    const ids = members.map(({ metadata }) => metadata.name ?? '').toSorted();
    throw new FatalError(
      `the set still has the members ${ids.join(', ')}: run \`fairlead mcs leave\` for each, or pass --force to leave imports and exports in place; nothing was changed`,
    );
  }
  for (const member of members) {
    const { namespace, name = '', finalizers = [] } = member.metadata;
    if (finalizers.length > 0)
      await client.patch(clusterMemberKind, { namespace, name }, { body: { metadata: { finalizers: null } } });
    await remove(clusterMemberKind, member);
  }
}

/** The Lease by which the replicas of a part elected their leader; it has the name of their account. */
const removeLease = (client: Client, namespace: string, name: string): Promise<void> =>
  client.delete(leaseKind, { namespace, name });

/** The objects of a kind; none if the cluster does not serve it. */
async function listed<T extends ApiObject>(
  client: Client,
  kind: Kind<T>,
  labelSelector?: string,
): Promise<readonly T[]> {
  try {
    return (await client.list(kind, { labelSelector, metadataOnly: true })).items;
  } catch (error) {
    if (hasStatusCode(error, 404)) return [];
    throw error;
  }
}

async function countOf(client: Client, definition: string): Promise<number> {
  const [kind] = versionsOf(definition);
  return kind === undefined ? 0 : (await listed(client, kind)).length;
}
