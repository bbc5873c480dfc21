// Selects endpoints under policies Cluster and Local, by readiness and topology.
import type { Candidate } from './candidates.ts';
import { isFallback } from './candidates.ts';
import type { ThisNode } from './options.ts';
import type { HintMode } from './topology.ts';
import { chooseByKeys, hintMode, isHinted } from './topology.ts';

/** Other inputs of a selection. */
export interface SelectionRules {
  readonly node: ThisNode;
  /** Whether hints of endpoints are used. */
  readonly useHints: boolean;
  /** Source cluster → its topology keys; without keys, all endpoints of the cluster are used. */
  readonly topologyKeys?: ReadonlyMap<string, readonly string[]>;
}

/** The selected endpoints of one port. */
export interface Selection {
  readonly candidates: readonly Candidate[];
  /** For policy Cluster: ready endpoints that topology prefers; if none is ready, serving ones that are terminating. */
  readonly cluster: readonly Candidate[];
  /** For policy Local: the same among endpoints on this node, without topology. */
  readonly local: readonly Candidate[];
  /** Whether any node has a usable endpoint. */
  readonly hasAny: boolean;
  readonly hints: HintMode;
  /** Whether the lists contain terminating endpoints because none is ready. */
  readonly clusterTerminates: boolean;
  readonly localTerminates: boolean;
  /** Source cluster → the topology key that selected its endpoints; undefined: none matched. Only clusters with keys. */
  readonly keyed: ReadonlyMap<string, string | undefined>;
}

/** Selects from candidates. */
export function select(
  candidates: readonly Candidate[],
  { node, useHints, topologyKeys = new Map() }: SelectionRules,
): Selection {
  const ready = candidates.filter((candidate) => candidate.ready);
  const fallback = candidates.filter((candidate) => !candidate.ready && isFallback(candidate));
  const hints = useHints ? hintMode(ready, node) : 'none';
  const { chosen, keyed } = byClusterKeys(ready, topologyKeys, node);
  const preferred = chosen.filter((candidate) => isHinted(candidate, hints, node));
  const localReady = ready.filter((candidate) => isLocal(candidate, node));
  // Topology may select no endpoint. Terminating endpoints are used only if none is ready.
  const clusterTerminates = ready.length === 0 && fallback.length > 0;
  const localFallback = localReady.length > 0 ? [] : fallback.filter((candidate) => isLocal(candidate, node));
  return {
    candidates,
    cluster: clusterTerminates ? byClusterKeys(fallback, topologyKeys, node).chosen : preferred,
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
  // Nodes of two clusters may have the same name.
  nodeName !== undefined && nodeName === node.name && (cluster === undefined || cluster === node.cluster);

/**
 * Selects each cluster's endpoints by that cluster's keys (MCS-133). Keys also rank clusters: a cluster is not used if another one
 * matched a key that it prefers to its own match (MCS-142). With `zone, region, *` in all clusters this means: this zone, then
 * this region, then any.
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
