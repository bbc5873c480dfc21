// `fairlead mcs join` with a ClusterMember, and `fairlead mcs import-members`.
import { dump } from 'js-yaml';
import { messageOf } from '../../api/error-message.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { secretKind } from '../../api/kinds/core/secret/kind.ts';
import type { Secret } from '../../api/kinds/core/secret/schema.ts';
import { clusterIdErrors } from '../../api/kinds/multicluster/cluster-id.ts';
import { clusterMemberKind } from '../../api/kinds/multicluster/clustermember/kind.ts';
import type { ClusterMember } from '../../api/kinds/multicluster/clustermember/schema.ts';
import { Client } from '../../client/client.ts';
import { connectionReason } from '../../client/connection-error.ts';
import { overHttps } from '../../client/https.ts';
import type { ClusterAccess } from '../../client/kubeconfig.ts';
import { embeddedAccess, embeddedConfig } from '../../client/kubeconfig.ts';
import type { MemberSettings } from '../../multicluster/member/entry.ts';
import { FatalError, UsageError } from '../errors.ts';
import { applyAll } from '../install/apply.ts';
import { memberGroups, missingDefinitions } from '../install/definitions.ts';
import type { Manifest } from '../install/manifest.ts';
import { installed, namespaceManifest } from '../install/manifest.ts';
import { memberAccess, memberAccount } from '../install/member-access.ts';
import { pathsOf } from './entries.ts';
import type { Cluster, Hub } from './hub.ts';
import { membersIn, openCluster } from './hub.ts';
import { memberManifest, secretManifest } from './member-manifests.ts';
import type { MembersFile } from './members-file.ts';

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

/** Makes a cluster a member: creates the account of the controller there, and a ClusterMember with its Secret here. */
export async function joinObjects({ hub, id, context, server, tokenSeconds, settings }: JoinOptions): Promise<string> {
  const [invalid] = clusterIdErrors(id);
  if (invalid !== undefined) throw new UsageError(`"${id}" cannot be the id of a cluster: ${invalid}: pass --id`);
  using home = await openCluster(hub);
  using cluster = await openCluster({ paths: hub.paths, context });
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

/** Creates a ClusterMember and a Secret for each member of a file, which stays as it is. */
export async function importMembers(path: string, file: MembersFile, hub: Hub): Promise<readonly string[]> {
  using home = await openCluster(hub);
  const existing = new Set((await membersIn(home, hub)).map(({ metadata }) => metadata.name));
  const manifests: Manifest[] = [installed(namespaceManifest(hub.namespace), 'multicluster')];
  for (const { id, kubeconfig, context, labels, ...settings } of file.members) {
    if (existing.has(id)) throw new FatalError(`"${id}" is a ClusterMember already; nothing was changed`);
    const config = await embeddedConfig({ paths: pathsOf(kubeconfig, path), context }).catch((error: unknown) => {
      throw new FatalError(`member "${id}" of ${path}: ${messageOf(error)}; nothing was changed`, { cause: error });
    });
    const shared = file.superclusterCIDRs === undefined ? {} : { superclusterCIDRs: file.superclusterCIDRs };
    manifests.push(
      secretManifest(hub, id, config),
      memberManifest(hub, { id, context: undefined, labels, settings: { ...shared, ...settings } }),
    );
  }
  await applyAll(home.client, manifests);
  return file.members.map(({ id }) => `${id} is a ClusterMember of namespace ${hub.namespace}`);
}
