// Who of the candidates gets connections, for clients anywhere and for clients of this node alone.
import type { Candidate } from './candidates.ts';
import { isFallback } from './candidates.ts';
import type { ThisNode } from './options.ts';
import type { HintMode } from './topology.ts';
import { chooseByKeys, hintMode, isHinted } from './topology.ts';

/** What else decides. */
export interface SelectionRules {
  readonly node: ThisNode;
  /** Whether hints on endpoints count. */
  readonly useHints: boolean;
  /** Source cluster → its topology keys; a cluster without any takes part with all its endpoints. */
  readonly topologyKeys?: ReadonlyMap<string, readonly string[]>;
}

/** The endpoints of one port, chosen. */
export interface Selection {
  readonly candidates: readonly Candidate[];
  /** For policy Cluster: ready and near enough; if there are none, whoever still answers. */
  readonly cluster: readonly Candidate[];
  /** For policy Local: the same, of this node's alone, without regard to topology. */
  readonly local: readonly Candidate[];
  /** Whether anybody anywhere could answer. */
  readonly hasAny: boolean;
  readonly hints: HintMode;
  /** Whether the lists are of endpoints that terminate, since nobody is ready. */
  readonly clusterTerminates: boolean;
  readonly localTerminates: boolean;
  /** Source cluster → the topology key that chose its endpoints; undefined: none matched. Only clusters with keys. */
  readonly keyed: ReadonlyMap<string, string | undefined>;
}

/** Chooses among candidates. */
export function select(
  candidates: readonly Candidate[],
  { node, useHints, topologyKeys = new Map() }: SelectionRules,
): Selection {
  const ready = candidates.filter((candidate) => candidate.ready);
  const fallback = candidates.filter((candidate) => !candidate.ready && isFallback(candidate));
  const hints = useHints ? hintMode(ready, node) : 'none';
  const { chosen, keyed } = byClusterKeys(ready, topologyKeys, node);
  const near = chosen.filter((candidate) => isHinted(candidate, hints, node));
  const localReady = ready.filter((candidate) => isLocal(candidate, node));
  // Topology that leaves nobody is an answer; only where nobody is ready do those that terminate step in.
  const clusterTerminates = ready.length === 0 && fallback.length > 0;
  const localFallback = localReady.length > 0 ? [] : fallback.filter((candidate) => isLocal(candidate, node));
  return {
    candidates,
    cluster: clusterTerminates ? byClusterKeys(fallback, topologyKeys, node).chosen : near,
    local: localReady.length > 0 ? localReady : localFallback,
    hasAny: ready.length > 0 || fallback.length > 0,
    hints,
    clusterTerminates,
    localTerminates: localFallback.length > 0,
    keyed,
  };
}

/** Whether an endpoint is on this node. */
export const isLocal = ({ nodeName, cluster }: Candidate, node: ThisNode): boolean =>
  // Nodes of two clusters may have one name.
  nodeName !== undefined && nodeName === node.name && (cluster === undefined || cluster === node.cluster);

/**
 * Each cluster's endpoints are chosen by that cluster's keys alone (MCS-133). A key also ranks the clusters that share it:
 * a cluster is not used if another one was chosen by a key that it prefers to its own match (MCS-142). With
 * `zone, region, *` in all clusters that is this zone, then this region, then anywhere; a cluster with `*` is always used.
 */
function byClusterKeys(
  candidates: readonly Candidate[],
  topologyKeys: ReadonlyMap<string, readonly string[]>,
  node: ThisNode,
): { readonly chosen: readonly Candidate[]; readonly keyed: ReadonlyMap<string, string | undefined> } {
  const keyed = new Map<string, string | undefined>();
  if (topologyKeys.size === 0) return { chosen: candidates, keyed };
  const choices = Array.from(
    Map.groupBy(candidates, (candidate) => candidate.cluster),
    ([cluster = '', group]) => {
      const keys = topologyKeys.get(cluster) ?? [];
      const choice = chooseByKeys(group, keys, node);
      if (keys.length > 0) keyed.set(cluster, choice.key);
      return { ...choice, preferred: keys.slice(0, keys.indexOf(choice.key ?? '')) };
    },
  );
  const matched = new Set(choices.flatMap(({ key }) => key ?? []));
  const used = choices.filter(
    ({ key, preferred }) => key === undefined || !preferred.some((each) => matched.has(each)),
  );
  const chosen = new Set(used.flatMap((choice) => choice.chosen));
  return { chosen: candidates.filter((candidate) => chosen.has(candidate)), keyed };
}
