// Hints by `service.kubernetes.io/topology-mode: Auto`: endpoints are allocated to zones in proportion to their CPU.
import { isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Endpoint } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { withHints } from './hints.ts';
import type { Draft } from './pack.ts';
import type { Share } from './shares.ts';
import { sharesOf } from './shares.ts';

/** The drafts with hints, or without hints and the reason. */
export interface TopologyHints {
  readonly drafts: readonly Draft[];
  readonly disabled: string | undefined;
}

/**
 * Allocates every ready endpoint to its own zone, or to another one if its zone has more than its share. Unchanged slices
 * keep their hints while these fit the shares.
 */
export function topologyHints(drafts: readonly Draft[], nodes: Iterable<Node>): TopologyHints {
  const ready = drafts.flatMap(({ endpoints }) => endpoints.filter(isReady));
  const shares = sharesOf(nodes, ready.length);
  if ('disabled' in shares) return withoutHints(drafts, shares.disabled);
  if (ready.some(({ zone = '' }) => zone === '')) {
    return withoutHints(drafts, 'One or more endpoints do not have a zone specified');
  }
  const counts = new Map<string, number>();
  const zones = new Map<Endpoint, string>();
  const open = drafts.filter((draft) => !keepsHints(draft, shares, { counts, zones }));
  const movable = open.flatMap(({ endpoints }) => endpoints.filter(isReady));
  for (const endpoint of movable) allocate(endpoint, endpoint.zone ?? '', { counts, zones });
  move(movable, shares, { counts, zones });
  const hinted = withHints(drafts, (endpoint) => {
    const name = zones.get(endpoint);
    return name === undefined ? undefined : { forZones: [{ name }] };
  });
  return { drafts: hinted, disabled: undefined };
}

const withoutHints = (drafts: readonly Draft[], disabled: string): TopologyHints => ({
  drafts: withHints(drafts, () => undefined),
  disabled,
});

/** The allocation so far: zone → number of endpoints, and endpoint → zone. */
interface Allocation {
  readonly counts: Map<string, number>;
  readonly zones: Map<Endpoint, string>;
}

function allocate(endpoint: Endpoint, zone: string, { counts, zones }: Allocation): void {
  counts.set(zone, (counts.get(zone) ?? 0) + 1);
  zones.set(endpoint, zone);
}

/** Allocates the hints of an unchanged slice; returns false, without any allocation, if they do not fit the shares. */
function keepsHints({ state, endpoints }: Draft, shares: ReadonlyMap<string, Share>, allocation: Allocation): boolean {
  if (state !== 'unchanged') return false;
  const kept = new Map<Endpoint, string>();
  const counts = new Map(allocation.counts);
  for (const endpoint of endpoints) {
    const [zone, ...more] = endpoint.hints?.forZones ?? [];
    if (!isReady(endpoint)) {
      if (endpoint.hints !== undefined) return false;
      continue;
    }
    const count = (counts.get(zone?.name ?? '') ?? 0) + 1;
    if (zone === undefined || more.length > 0 || count > (shares.get(zone.name)?.maximum ?? 0)) return false;
    counts.set(zone.name, count);
    kept.set(endpoint, zone.name);
  }
  for (const [endpoint, zone] of kept) allocate(endpoint, zone, allocation);
  return true;
}

/**
 * Moves endpoints one by one from the zone with the largest excess to the one with the largest deficit. Afterwards no zone
 * exceeds its maximum, so that the next plan keeps these hints.
 */
function move(endpoints: readonly Endpoint[], shares: ReadonlyMap<string, Share>, { counts, zones }: Allocation): void {
  const has = (zone: string): number => counts.get(zone) ?? 0;
  const missing = (zone: string): number => (shares.get(zone)?.desired ?? 0) - has(zone);
  const isOver = (zone: string): boolean => has(zone) > (shares.get(zone)?.maximum ?? 0);
  const mostMissing = (names: readonly string[]): string | undefined =>
    names.toSorted((left, right) => missing(right) - missing(left))[0];
  const movable = Map.groupBy(endpoints, ({ zone = '' }) => zone);
  for (let moves = 0; moves < endpoints.length; moves++) {
    const donors = [...movable.keys()].filter((zone) => (movable.get(zone)?.length ?? 0) > 0);
    const over = donors.filter(isOver);
    const from = (over.length > 0 ? over : donors).toSorted((left, right) => missing(left) - missing(right))[0];
    const to = mostMissing([...shares].filter(([zone, { maximum }]) => has(zone) < maximum).map(([zone]) => zone));
    if (from === undefined || to === undefined || from === to) return;
    const isShort = has(to) < (shares.get(to)?.minimum ?? 0) && missing(from) < 0;
    // A difference of less than one endpoint is only moved to prevent an overload.
    if (!isOver(from) && !isShort && (missing(to) < 1 || missing(from) > -1)) return;
    const endpoint = movable.get(from)?.pop();
    if (endpoint === undefined) return;
    zones.set(endpoint, to);
    counts.set(from, has(from) - 1);
    counts.set(to, has(to) + 1);
  }
}
