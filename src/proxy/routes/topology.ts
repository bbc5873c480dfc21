// Topology-aware selection: by hints of endpoints, or by ordered topology keys of a cluster.
import { regionLabel, zoneLabel } from '../../api/kinds/core/node/labels.ts';
import { regionAnnotation } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { Candidate } from './candidates.ts';
import type { ThisNode } from './options.ts';

const hostnameKey = 'kubernetes.io/hostname';

/** The level at which hints select endpoints for this node. */
export type HintMode = 'PreferSameNode' | 'PreferSameZone' | 'none';

/** The level of hints. An endpoint without hints disables a level for all. */
export function hintMode(ready: readonly Candidate[], node: ThisNode): HintMode {
  if (ready.length === 0) return 'none';
  const zone = node.labels?.[zoneLabel];
  if (ready.every(hasNodeHints) && ready.some((candidate) => isForNode(candidate, node))) return 'PreferSameNode';
  if (zone && ready.every(hasZoneHints) && ready.some((candidate) => isForZone(candidate, zone)))
    return 'PreferSameZone';
  return 'none';
}

/** Whether the hints of an endpoint select it for this node. */
export function isHinted(candidate: Candidate, mode: HintMode, node: ThisNode): boolean {
  if (mode === 'none') return true;
  return mode === 'PreferSameNode' ? isForNode(candidate, node) : isForZone(candidate, node.labels?.[zoneLabel] ?? '');
}

const hasNodeHints = ({ endpoint }: Candidate): boolean => (endpoint.hints?.forNodes?.length ?? 0) > 0;
const hasZoneHints = ({ endpoint }: Candidate): boolean => (endpoint.hints?.forZones?.length ?? 0) > 0;

const isForNode = ({ endpoint }: Candidate, { name }: ThisNode): boolean =>
  endpoint.hints?.forNodes?.some((hint) => hint.name === name) ?? false;

const isForZone = ({ endpoint }: Candidate, zone: string): boolean =>
  endpoint.hints?.forZones?.some((hint) => hint.name === zone) ?? false;

/** The matching key and the selected endpoints; `key` is undefined without keys or without a match. */
export interface KeyedChoice {
  readonly key: string | undefined;
  readonly chosen: readonly Candidate[];
}

/**
 * Selects the endpoints that share this node's value of the first topology key that any endpoint matches. `*` matches all; without
 * a match, none is selected. Keys without a value on this node or endpoint do not match.
 */
export function chooseByKeys(ready: readonly Candidate[], keys: readonly string[], node: ThisNode): KeyedChoice {
  if (keys.length === 0) return { key: undefined, chosen: ready };
  for (const key of keys) {
    if (key === '*') return { key, chosen: ready };
    const own = node.labels?.[key];
    if (own === undefined || own === '') continue;
    // Nodes of two clusters may have the same name.
    const within = key === hostnameKey ? ready.filter(({ cluster }) => cluster === node.cluster) : ready;
    const chosen = within.filter((candidate) => topologyValue(candidate, key) === own);
    if (chosen.length > 0) return { key, chosen };
  }
  return { key: undefined, chosen: [] };
}

/** The value of a topology key of an endpoint. v1 has fields for most keys of v1beta1's topology map. */
export function topologyValue({ endpoint, nodeName, slice }: Candidate, key: string): string | undefined {
  const kept = endpoint.deprecatedTopology?.[key];
  if (key === hostnameKey) return nodeName ?? kept;
  if (key === regionLabel) return slice.metadata.annotations?.[regionAnnotation] ?? kept;
  return key === zoneLabel ? (endpoint.zone ?? kept) : kept;
}
