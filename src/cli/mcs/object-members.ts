// Members as objects of the cluster in which the controller runs: `fairlead mcs join`, `leave` and `import-members`.
import { setTimeout as delay } from 'node:timers/promises';
import { dump } from 'js-yaml';
import { messageOf } from '../../api/error-message.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { serviceAccountKind } from '../../api/kinds/core/serviceaccount/kind.ts';
import { secretKind } from '../../api/kinds/core/secret/kind.ts';
import type { Secret } from '../../api/kinds/core/secret/schema.ts';
import { clusterMemberKind, kubeconfigKey } from '../../api/kinds/multicluster/clustermember/kind.ts';
import type { ClusterMember } from '../../api/kinds/multicluster/clustermember/schema.ts';
import { clusterIdErrors } from '../../api/kinds/multicluster/cluster-id.ts';
import { Client } from '../../client/client.ts';
import { connectionReason } from '../../client/connection-error.ts';
import { overHttps } from '../../client/https.ts';
import type { ClusterAccess } from '../../client/kubeconfig.ts';
import { embeddedAccess, embeddedConfig, readKubeconfig } from '../../client/kubeconfig.ts';
import { hasStatusCode } from '../../client/transport.ts';
import { memberFinalizer } from '../../multicluster/objects/reporter.ts';
import type { MemberSettings } from '../../multicluster/member/entry.ts';
import { FatalError, UsageError } from '../errors.ts';
import { applyAll, deleteAll } from '../install/apply.ts';
import { memberGroups, missingDefinitions } from '../install/definitions.ts';
import { installed, isInstalled, namespaceManifest } from '../install/manifest.ts';
import type { Manifest } from '../install/manifest.ts';
import { memberAccess, memberAccount } from '../install/member-access.ts';
import { version } from '../program.ts';
import { pathsOf } from './entries.ts';
import type { Hub } from './hub.ts';
import type { MembersFile } from './members-file.ts';

/** On a ClusterMember: the context of the kubeconfig by which it was joined, with which `leave` removes the account. */
const contextAnnotation = 'fairlead.dev/context';

export interface JoinOptions {
  readonly hub: Hub;
  readonly id: string;
  /** The context of the cluster that joins, in the same files. */
  readonly context: string;
  /** The URL by which the controller reaches the cluster; undefined: that of the context. */
  readonly server: string | undefined;
  readonly tokenSeconds: number;
  readonly settings: MemberSettings;
}

interface Cluster extends Disposable {
  readonly client: Client;
  readonly access: ClusterAccess;
}

async function open({ paths, context }: Pick<Hub, 'paths' | 'context'>): Promise<Cluster> {
  const access = await readKubeconfig({ paths, context, env: process.env });
  const client = new Client(overHttps(access, { userAgent: `fairlead/${version}` }), {
    fieldManager: 'fairlead-install',
  });
  return { client, access, [Symbol.dispose]: () => client[Symbol.dispose]() };
}

/** Makes a cluster a member: creates the account of the controller there, and a ClusterMember with its Secret here. */
export async function joinObjects({ hub, id, context, server, tokenSeconds, settings }: JoinOptions): Promise<string> {
  const [invalid] = clusterIdErrors(id);
  if (invalid !== undefined) throw new UsageError(`"${id}" cannot be the id of a cluster: ${invalid}: pass --id`);
  using home = await open(hub);
  using cluster = await open({ paths: hub.paths, context });
  const uid = await uidOf(cluster, id);
  await checkUnique(await membersIn(home, hub), id, uid);
  const drafts = (kubeconfig: string): readonly [Manifest, Manifest] => [
    secretManifest(hub, id, kubeconfig),
    memberManifest(hub, { id, context, settings }),
  ];
  // Nothing is created in the cluster that joins if its ClusterMember would be rejected here.
  await applyAll(home.client, [installed(namespaceManifest(hub.namespace), 'multicluster')]);
  const account = { namespace: hub.namespace, name: memberAccount };
  await dryRun(home, drafts(''));
  await applyAll(cluster.client, [
    ...(await missingDefinitions(cluster.client, memberGroups)),
    ...memberAccess(hub.namespace),
  ]);
  const { status } = await cluster.client.requestToken(account, tokenSeconds);
  const kubeconfig = kubeconfigOf(
    { ...cluster.access, server: server ?? cluster.access.server },
    id,
    status?.token ?? '',
  );
  await checkAccess(kubeconfig, id, uid);
  for (const manifest of drafts(kubeconfig)) await applyAll(home.client, [manifest]);
  return `${id} is a member: the controller in ${home.access.context} uses the account ${hub.namespace}/${memberAccount} there, whose token it renews before ${status?.expirationTimestamp ?? ''}`;
}

const dryRun = async ({ client }: Cluster, [secret, member]: readonly [Manifest, Manifest]): Promise<void> => {
  try {
    // Casts: the manifests are objects of these kinds.
    await client.apply(secretKind, secret as Secret, { dryRun: true });
    await client.apply(clusterMemberKind, member as unknown as ClusterMember, { dryRun: true });
  } catch (error) {
    throw new FatalError(`the member would be rejected: ${connectionReason(error)}; nothing was changed`, {
      cause: error,
    });
  }
};

async function uidOf({ client }: Cluster, id: string): Promise<string> {
  try {
    return (await client.get(namespaceKind, { name: 'kube-system' })).metadata.uid ?? '';
  } catch (error) {
    throw new FatalError(`requests to cluster ${id} fail: ${connectionReason(error)}`, { cause: error });
  }
}

async function membersIn({ client, access }: Cluster, { namespace }: Hub): Promise<readonly ClusterMember[]> {
  try {
    return (await client.list(clusterMemberKind, { namespace })).items;
  } catch (error) {
    if (!hasStatusCode(error, 404))
      throw new FatalError(`requests to the cluster of the controller fail: ${connectionReason(error)}`, {
        cause: error,
      });
    throw new FatalError(
      `the cluster of context ${access.context} does not serve ClusterMembers: run \`fairlead install --context ${access.context} --parts multicluster\` first`,
    );
  }
}

async function checkUnique(members: readonly ClusterMember[], id: string, uid: string): Promise<void> {
  const clusterUid = ({ status }: ClusterMember): string | undefined => status?.clusterUID;
  const same = members.find(({ metadata }) => metadata.name === id);
  if (same !== undefined && clusterUid(same) !== undefined && clusterUid(same) !== uid)
    throw new FatalError(
      `"${id}" is another cluster, which is a member: choose another --id, or run \`fairlead mcs leave ${id}\` first`,
    );
  const twin = members.find((each) => each.metadata.name !== id && clusterUid(each) === uid);
  if (twin !== undefined) throw new FatalError(`"${id}" is the same cluster as the member "${twin.metadata.name}"`);
}

function kubeconfigOf(
  { server, ca, insecureSkipTlsVerify, tlsServerName }: ClusterAccess,
  id: string,
  token: string,
): string {
  const cluster = {
    server,
    ...(ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
    ...(insecureSkipTlsVerify === true ? { 'insecure-skip-tls-verify': true } : {}),
    ...(tlsServerName === undefined ? {} : { 'tls-server-name': tlsServerName }),
  };
  return dump({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': id,
    clusters: [{ name: id, cluster }],
    contexts: [{ name: id, context: { cluster: id, user: memberAccount } }],
    users: [{ name: memberAccount, user: { token } }],
  });
}

/** Uses the new token once, as the controller will. */
async function checkAccess(kubeconfig: string, id: string, uid: string): Promise<void> {
  using client = new Client(overHttps(await embeddedAccess(kubeconfig, { source: `the new kubeconfig of ${id}` })));
  try {
    const { metadata } = await client.get(namespaceKind, { name: 'kube-system' });
    if (metadata.uid === uid) return;
  } catch (error) {
    throw new FatalError(
      `the controller could not use its account in ${id}: ${connectionReason(error)}: pass --server if it needs another URL`,
      { cause: error },
    );
  }
  throw new FatalError(`the server of --server is another cluster than that of the context`);
}

const secretManifest = ({ namespace }: Hub, id: string, kubeconfig: string): Manifest =>
  installed(
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: secretName(id), namespace },
      type: 'Opaque',
      data: { [kubeconfigKey]: Buffer.from(kubeconfig).toString('base64') },
    },
    'multicluster',
  );

const secretName = (id: string): string => `member-${id}`;

const memberManifest = (
  { namespace }: Hub,
  {
    id,
    context,
    settings,
  }: { readonly id: string; readonly context: string | undefined; readonly settings: MemberSettings },
): Manifest =>
  installed(
    {
      apiVersion: 'multicluster.fairlead.dev/v1alpha1',
      kind: 'ClusterMember',
      metadata: {
        name: id,
        namespace,
        ...(context === undefined ? {} : { annotations: { [contextAnnotation]: context } }),
      },
      spec: { secretRef: { name: secretName(id) }, ...settings },
    },
    'multicluster',
  );

/** Creates a ClusterMember and a Secret for each member of a file, which stays as it is. */
export async function importMembers(path: string, file: MembersFile, hub: Hub): Promise<readonly string[]> {
  using home = await open(hub);
  const existing = new Set((await membersIn(home, hub)).map(({ metadata }) => metadata.name));
  const manifests: Manifest[] = [installed(namespaceManifest(hub.namespace), 'multicluster')];
  for (const { id, kubeconfig, context, ...settings } of file.members) {
    if (existing.has(id)) throw new FatalError(`"${id}" is a ClusterMember already; nothing was changed`);
    const config = await embeddedConfig({ paths: pathsOf(kubeconfig, path), context }).catch((error: unknown) => {
      throw new FatalError(`member "${id}" of ${path}: ${messageOf(error)}; nothing was changed`, { cause: error });
    });
    const shared = file.superclusterCIDRs === undefined ? {} : { superclusterCIDRs: file.superclusterCIDRs };
    manifests.push(
      secretManifest(hub, id, config),
      memberManifest(hub, { id, context: undefined, settings: { ...shared, ...settings } }),
    );
  }
  await applyAll(home.client, manifests);
  return file.members.map(({ id }) => `${id} is a ClusterMember of namespace ${hub.namespace}`);
}

export interface LeaveObjectsOptions {
  readonly hub: Hub;
  readonly id: string;
  readonly isForced: boolean;
  readonly timeoutMs: number;
}

/** Withdraws a cluster, deletes its ClusterMember and Secret, and removes the account of the controller there. */
export async function leaveObjects({ hub, id, isForced, timeoutMs }: LeaveObjectsOptions): Promise<string> {
  using home = await open(hub);
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
    await removeAccess({ ...hub, context });
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
async function removeAccess({ paths, context, namespace }: Hub): Promise<void> {
  using cluster = await open({ paths, context });
  const { client } = cluster;
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
