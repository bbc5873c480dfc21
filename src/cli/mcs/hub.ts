// The cluster of the controller, in which ClusterMembers are kept.
import { homedir } from 'node:os';
import { delimiter } from 'node:path';
import { clusterMemberKind } from '../../api/kinds/multicluster/clustermember/kind.ts';
import type { ClusterMember } from '../../api/kinds/multicluster/clustermember/schema.ts';
import { Client } from '../../client/client.ts';
import { connectionReason } from '../../client/connection-error.ts';
import { overHttps } from '../../client/https.ts';
import type { ClusterAccess } from '../../client/kubeconfig.ts';
import { kubeconfigPaths, readKubeconfig } from '../../client/kubeconfig.ts';
import { hasStatusCode } from '../../client/transport.ts';
import { FatalError } from '../errors.ts';
import { defaultNamespace } from '../install/manifest.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { readFlag, textOf } from '../options/flags.ts';
import { parseNamespace } from '../options/values.ts';
import { version } from '../program.ts';

/** Where ClusterMembers are kept. */
export interface Hub {
  readonly paths: readonly string[];
  /** undefined: the current context. */
  readonly context: string | undefined;
  readonly namespace: string;
}

/** The flags that select the ClusterMembers. */
export const hubFlags: readonly Flag[] = [
  {
    name: 'hub',
    value: 'CONTEXT',
    description: 'context of the cluster of the controller',
    default: 'the current one',
  },
  { name: 'namespace', value: 'NAMESPACE', description: 'namespace of the ClusterMembers', default: defaultNamespace },
  {
    name: 'kubeconfig',
    value: 'FILE',
    description: 'kubeconfig with the contexts',
    default: '$KUBECONFIG or ~/.kube/config',
  },
];

/** Reads the flags. */
export function hubOf(settings: Settings): Hub {
  const kubeconfig = textOf(settings, 'kubeconfig');
  return {
    paths: kubeconfig === undefined ? kubeconfigPaths(process.env, homedir(), delimiter) : [kubeconfig],
    context: textOf(settings, 'hub'),
    namespace: readFlag(settings, 'namespace', parseNamespace, defaultNamespace),
  };
}

/** A cluster of a kubeconfig. */
export interface Cluster extends Disposable {
  readonly client: Client;
  readonly access: ClusterAccess;
}

/** Connects to a cluster. */
export async function openCluster({ paths, context }: Pick<Hub, 'paths' | 'context'>): Promise<Cluster> {
  const access = await readKubeconfig({ paths, context, env: process.env });
  const client = new Client(overHttps(access, { userAgent: `fairlead/${version}` }), {
    fieldManager: 'fairlead-install',
  });
  return { client, access, [Symbol.dispose]: () => client[Symbol.dispose]() };
}

/** The ClusterMembers of a hub. */
export async function membersIn({ client, access }: Cluster, { namespace }: Hub): Promise<readonly ClusterMember[]> {
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
