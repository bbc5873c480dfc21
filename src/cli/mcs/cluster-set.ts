// Which clusters `fairlead mcs` reads: those of a members file, or the contexts of a kubeconfig.
import { dirname, join } from 'node:path';
import { messageOf } from '../../api/error-message.ts';
import { Client } from '../../client/client.ts';
import { connectionReason } from '../../client/connection-error.ts';
import { overHttps } from '../../client/https.ts';
import { contextOfEachCluster, readKubeconfig } from '../../client/kubeconfig.ts';
import { endpointRangesOf } from '../../multicluster/guard/policy.ts';
import { Vips } from '../../multicluster/member/vips.ts';
import type { MemberEntry } from '../../multicluster/member/entry.ts';
import { listMembers } from '../../multicluster/objects/member-objects.ts';
import { FatalError, UsageError } from '../errors.ts';
import type { Settings } from '../options/flags.ts';
import { textOf } from '../options/flags.ts';
import { contextsText, findCluster } from '../part/cluster-access.ts';
import { defaultRanges } from '../up/ranges.ts';
import { version } from '../program.ts';
import { stateOf } from '../up/stored-clusters.ts';
import { clientOf, entriesOf } from './entries.ts';
import { readMembers } from './follow-members.ts';
import type { Hub } from './hub.ts';
import { hubOf } from './hub.ts';

/** The clusters to read. */
export interface ClusterSet {
  readonly entries: readonly MemberEntry[];
  /** Where the clusters were found, for people; undefined: in the file of `--members`. */
  readonly source: string | undefined;
  /** The DNS server of a cluster of `fairlead up`, as `address:port`. */
  readonly dnsOf: (cluster: string) => string | undefined;
}

/** Finds the clusters as the flags name them, else as other commands find theirs. */
export async function findSet(settings: Settings): Promise<ClusterSet> {
  const [members, hub] = [textOf(settings, 'members'), textOf(settings, 'hub')];
  if (members !== undefined && hub !== undefined)
    throw new UsageError('--members and --hub are two sources of members: pass one');
  if (hub !== undefined) return setOfObjects(hubOf(settings));
  if (members === undefined) return setOfContexts(settings);
  return { entries: entriesOf(await readMembers(members), members), source: undefined, dnsOf: () => undefined };
}

/** The clusters of the ClusterMembers of a hub. */
export async function setOfObjects(hub: Hub): Promise<ClusterSet> {
  const access = await readKubeconfig({ paths: hub.paths, context: hub.context, env: process.env });
  using client = new Client(overHttps(access, { userAgent: `fairlead/${version}` }));
  const options = { namespace: hub.namespace, userAgent: `fairlead/${version}` };
  const entries = await listMembers(client, options).catch((cause: unknown) => {
    throw new FatalError(`could not read the ClusterMembers of ${access.context}: ${connectionReason(cause)}`, {
      cause,
    });
  });
  if (entries.length === 0)
    throw new FatalError(`namespace ${hub.namespace} of ${access.context} has no ClusterMembers: pass --namespace`);
  return { entries, source: `the ClusterMembers of ${access.context}`, dnsOf: () => undefined };
}

async function setOfContexts(settings: Settings): Promise<ClusterSet> {
  const dataDir = textOf(settings, 'data-dir');
  const kubeconfig = dataDir === undefined ? textOf(settings, 'kubeconfig') : join(dataDir, 'kubeconfig');
  const { paths, source } = await findCluster(
    new Map(kubeconfig === undefined ? [] : [['kubeconfig', [kubeconfig]]]),
    process.env,
  );
  const contexts = await contextOfEachCluster(paths).catch((cause: unknown) => {
    throw new UsageError(`${messageOf(cause)}: pass --kubeconfig FILE or --members FILE, or start \`fairlead up\``, {
      cause,
    });
  });
  if (contexts.length === 0) throw new UsageError(`there are no contexts in ${source}: pass --members FILE`);
  // The addresses of imports in a cluster of `up` follow from its place among the clusters.
  const states = await Promise.all(paths.map((path) => stateOf(dirname(path))));
  const clusters = states.find((state) => state !== undefined)?.clusters ?? [];
  const entries = contexts.map((id): MemberEntry => {
    const index = clusters.findIndex(({ name }) => name === id);
    return {
      id,
      connect: () => clientOf({ paths, context: id }),
      policy: { endpointRanges: endpointRangesOf(['0.0.0.0/0', '::/0']) },
      ...(index === -1 ? {} : { vips: new Vips([defaultRanges(index).supercluster]) }),
    };
  });
  return {
    entries,
    source: contextsText(contexts, source),
    dnsOf(cluster) {
      const dns = clusters.find(({ name }) => name === cluster)?.dns;
      return dns && `${dns.address}:${dns.port}`;
    },
  };
}
