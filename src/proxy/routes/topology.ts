// Which ready endpoints are meant for this node: by hints on endpoints, or by ordered topology keys of a cluster.
import { regionAnnotation } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { Candidate } from './candidates.ts';
import type { ThisNode } from './options.ts';

const hostnameKey = 'kubernetes.io/hostname';
export const zoneKey = 'topology.kubernetes.io/zone';
const regionKey = 'topology.kubernetes.io/region';

/** What hints say: `PreferSameNode` or `PreferSameZone` if they say so for this node, else nothing. */
export type HintMode = 'PreferSameNode' | 'PreferSameZone' | 'none';

/** What the hints of all ready endpoints add up to. One endpoint without a hint switches that level off for all. */
export function hintMode(ready: readonly Candidate[], node: ThisNode): HintMode {
  if (ready.length === 0) return 'none';
  const zone = node.labels?.[zoneKey];
  if (ready.every(hasNodeHints) && ready.some((candidate) => isForNode(candidate, node))) return 'PreferSameNode';
  if (zone && ready.every(hasZoneHints) && ready.some((candidate) => isForZone(candidate, zone)))
    return 'PreferSameZone';
  return 'none';
}

/** Whether an endpoint is meant for this node, under a mode. */
export function isHinted(candidate: Candidate, mode: HintMode, node: ThisNode): boolean {
  if (mode === 'none') return true;
  return mode === 'PreferSameNode' ? isForNode(candidate, node) : isForZone(candidate, node.labels?.[zoneKey] ?? '');
}

const hasNodeHints = ({ endpoint }: Candidate): boolean => (endpoint.hints?.forNodes?.length ?? 0) > 0;
const hasZoneHints = ({ endpoint }: Candidate): boolean => (endpoint.hints?.forZones?.length ?? 0) > 0;

const isForNode = ({ endpoint }: Candidate, { name }: ThisNode): boolean =>
  endpoint.hints?.forNodes?.some((hint) => hint.name === name) ?? false;

const isForZone = ({ endpoint }: Candidate, zone: string): boolean =>
  endpoint.hints?.forZones?.some((hint) => hint.name === zone) ?? false;

/** The key that chose, and whom. `key` is undefined where there was nothing to choose by, or nothing matched. */
export interface KeyedChoice {
  readonly key: string | undefined;
  readonly chosen: readonly Candidate[];
}

/**
 * The endpoints that ordered topology keys prefer: those that share this node's value of the first key for which there
 * are any. `*` is everybody; without it, and without a match, there is nobody. Keys that this node has no value for,
 * and endpoints without one, do not match.
 */
export function chooseByKeys(ready: readonly Candidate[], keys: readonly string[], node: ThisNode): KeyedChoice {
  if (keys.length === 0) return { key: undefined, chosen: ready };
  for (const key of keys) {
    if (key === '*') return { key, chosen: ready };
    const own = node.labels?.[key];
    if (own === undefined || own === '') continue;
    // Nodes of two clusters may have one name.
    const within = key === hostnameKey ? ready.filter(({ cluster }) => cluster === node.cluster) : ready;
    const chosen = within.filter((candidate) => topologyValue(candidate, key) === own);
    if (chosen.length > 0) return { key, chosen };
  }
  return { key: undefined, chosen: [] };
}

/** An endpoint's value of a topology key. In v1 slices most of what v1beta1 had is in fields of their own. */
export function topologyValue({ endpoint, nodeName, slice }: Candidate, key: string): string | undefined {
  const kept = endpoint.deprecatedTopology?.[key];
  if (key === hostnameKey) return nodeName ?? kept;
  if (key === regionKey) return slice.metadata.annotations?.[regionAnnotation] ?? kept;
  return key === zoneKey ? (endpoint.zone ?? kept) : kept;
}
