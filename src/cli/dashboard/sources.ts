// How the parts of the shown clusters are configured: the dashboard computes what they do.
import type { ClusterSetOptions, ClusterSource } from '../../dashboard/options.ts';
import { endpointRangesOf } from '../../multicluster/guard/policy.ts';
import { Vips } from '../../multicluster/member/vips.ts';
import { dnsOptionsOf } from '../dns/options.ts';
import { entriesInUp, mergeOptionsOf } from '../multicluster/part.ts';
import type { Settings } from '../options/flags.ts';
import type { Peer, StartContext, UpCluster } from '../part/part.ts';
import { proxyOptionsOf } from '../proxy/options.ts';
import { defaultRanges } from '../up/ranges.ts';
import type { State } from '../up/state.ts';

export interface Sources {
  readonly clusters: readonly ClusterSource[];
  readonly set: ClusterSetOptions;
}

type Peers = NonNullable<StartContext['peers']>;

/** The clusters of this `fairlead up`. */
export function sourcesInUp(cluster: UpCluster, peers: Peers): Sources {
  const { all = [], sectionOf = () => new Map() } = cluster;
  const dns = dnsOptionsOf(sectionOf('dns'));
  const proxy = proxyOptionsOf(sectionOf('proxy'));
  const clusters = all.flatMap(({ name, dns: listen }) => {
    const peer = peers.get(name);
    const own = listen === undefined ? dns : { ...dns, listen: [listen] };
    return peer === undefined ? [] : [{ name, ...peer, dns: own, proxy }];
  });
  return { clusters, set: { ...mergeOptionsOf(sectionOf('multicluster')), members: entriesInUp(cluster, peers) } };
}

/** The clusters of a kubeconfig; `states` are those of running `fairlead up`. */
export function sourcesAlone(peers: Peers, states: readonly State[], settings: Settings): Sources {
  const named = Array.from(peers, ([name, peer]) => ({ name, peer, ...runningOf(peer, states) }));
  return {
    clusters: named.map(({ name, peer, state }) => {
      const flagsOf = (part: string): Settings =>
        new Map(Object.entries(state?.parts.find((each) => each.name === part)?.flags ?? {}));
      const dns = dnsOptionsOf(flagsOf('dns'));
      const own = state?.dns === undefined ? dns : { ...dns, listen: [state.dns] };
      return { name, ...peer, dns: own, proxy: proxyOptionsOf(flagsOf('proxy')) };
    }),
    set: {
      ...mergeOptionsOf(settings),
      members: named.map(({ name, peer, index }) => ({
        id: name,
        connect: peer.connect,
        policy: { endpointRanges: endpointRangesOf(['0.0.0.0/0', '::/0']) },
        // The addresses of imports in a cluster of `up` follow from its place among the clusters.
        ...(index === undefined ? {} : { vips: new Vips([defaultRanges(index).supercluster]) }),
      })),
    },
  };
}

/** The cluster of a running `fairlead up` with the server of a peer. */
function runningOf({ server }: Peer, states: readonly State[]) {
  for (const { clusters } of states) {
    const index = clusters.findIndex((each) => each.server === server);
    const state = clusters[index];
    if (state !== undefined) return { state, index };
  }
  return {};
}
