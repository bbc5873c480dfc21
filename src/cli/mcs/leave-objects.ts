// `fairlead mcs leave` with a ClusterMember.
import { setTimeout as delay } from 'node:timers/promises';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { secretKind } from '../../api/kinds/core/secret/kind.ts';
import { serviceAccountKind } from '../../api/kinds/core/serviceaccount/kind.ts';
import { clusterMemberKind } from '../../api/kinds/multicluster/clustermember/kind.ts';
import type { Client } from '../../client/client.ts';
import { connectionReason } from '../../client/connection-error.ts';
import { hasStatusCode } from '../../client/transport.ts';
import { memberFinalizer } from '../../multicluster/objects/reporter.ts';
import { FatalError } from '../errors.ts';
import { deleteAll } from '../install/apply.ts';
import { isInstalled } from '../install/manifest.ts';
import { memberAccess, memberAccount } from '../install/member-access.ts';
import type { Hub } from './hub.ts';
import { membersIn, openCluster } from './hub.ts';
import { contextAnnotation } from './member-manifests.ts';

export interface LeaveObjectsOptions {
  readonly hub: Hub;
  readonly id: string;
  readonly isForced: boolean;
  readonly timeoutMs: number;
}

/** Withdraws a cluster, deletes its ClusterMember and Secret, and removes the account of the controller there. */
export async function leaveObjects({ hub, id, isForced, timeoutMs }: LeaveObjectsOptions): Promise<string> {
  using home = await openCluster(hub);
  const members = await membersIn(home, hub);
  const member = members.find(({ metadata }) => metadata.name === id);
  if (member === undefined) {
    const known = members.map(({ metadata }) => metadata.name ?? '').toSorted();
    throw new FatalError(
      `"${id}" is not a member: namespace ${hub.namespace} has ${known.length === 0 ? 'none' : known.join(', ')}`,
    );
  }
  const name = { namespace: hub.namespace, name: id };
  await home.client.delete(clusterMemberKind, name);
  if (isForced) await release(home.client, name);
  await gone(home.client, { name, id, timeoutMs });
  await deleteSecret(home.client, { namespace: hub.namespace, name: member.spec.secretRef.name });
  const left = isForced
    ? `${id} is removed; its imports and exports are left in place`
    : `${id} has left; its exports were withdrawn and its imports deleted`;
  const context = member.metadata.annotations?.[contextAnnotation];
  const kept = `the account ${hub.namespace}/${memberAccount} there remains`;
  if (context === undefined) return `${left}; ${kept} if \`fairlead mcs join\` created one`;
  try {
    await removeAccess({ ...hub, context }, member.status?.clusterUID);
    return `${left}; the account of the controller there is deleted`;
  } catch (error) {
    return `${left}\n${kept}: ${connectionReason(error)}; run \`fairlead uninstall --context ${context}\` to delete it`;
  }
}

/** Removes the finalizer of the controller, which would wait for the cluster. */
async function release(client: Client, name: { readonly namespace: string; readonly name: string }): Promise<void> {
  const member = await client.find(clusterMemberKind, name);
  if (member === undefined) return;
  const finalizers = (member.metadata.finalizers ?? []).filter((each) => each !== memberFinalizer);
  await client.update(clusterMemberKind, { ...member, metadata: { ...member.metadata, finalizers } });
}

async function gone(
  client: Client,
  {
    name,
    id,
    timeoutMs,
  }: {
    readonly name: { readonly namespace: string; readonly name: string };
    readonly id: string;
    readonly timeoutMs: number;
  },
): Promise<void> {
  for (const end = performance.now() + timeoutMs; ; await delay(200)) {
    const member = await client.find(clusterMemberKind, name);
    if (member === undefined) return;
    if (performance.now() < end) continue;
    const problem = member.status?.conditions?.find(({ type, status }) => type === 'Reachable' && status === 'False');
    throw new FatalError(
      `${id} is leaving and not withdrawn yet: ${problem?.message ?? 'check that `fairlead multicluster` runs'}; run this again, or pass --force if it no longer exists`,
    );
  }
}

/** A Secret of another tool is left to it. */
async function deleteSecret(
  client: Client,
  name: { readonly namespace: string; readonly name: string },
): Promise<void> {
  const secret = await client.find(secretKind, name);
  if (secret !== undefined && isInstalled(secret)) await client.delete(secretKind, name);
}

/** Deletes the account of the controller in a cluster, and its namespace unless something else is installed there. */
async function removeAccess({ paths, context, namespace }: Hub, uid: string | undefined): Promise<void> {
  using cluster = await openCluster({ paths, context });
  const { client } = cluster;
  const system = await client.get(namespaceKind, { name: 'kube-system' });
  if (uid !== undefined && system.metadata.uid !== uid) throw new Error(`context ${context} is another cluster here`);
  const { items: accounts } = await client.list(serviceAccountKind, { namespace });
  const others = accounts.filter(({ metadata }) => ![memberAccount, 'default'].includes(metadata.name ?? ''));
  const isShared = others.length > 0 || (await hasMembers(client, namespace));
  await deleteAll(
    client,
    memberAccess(namespace).filter(({ kind }) => kind !== 'Namespace' || !isShared),
  );
}

const hasMembers = async (client: Client, namespace: string): Promise<boolean> => {
  try {
    return (await client.list(clusterMemberKind, { namespace })).items.length > 0;
  } catch (error) {
    if (hasStatusCode(error, 404)) return false;
    throw error;
  }
};
