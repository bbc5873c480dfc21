// The older way to hints (`service.kubernetes.io/topology-mode: Auto`): endpoints shared out by the CPU of the zones.
import { isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Endpoint } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { withHints } from './hints.ts';
import type { Draft } from './pack.ts';
import type { Share } from './shares.ts';
import { sharesOf } from './shares.ts';

/** The drafts with their hints, or without any and why. */
export interface TopologyHints {
  readonly drafts: readonly Draft[];
  readonly refused: string | undefined;
}

/**
 * Gives every ready endpoint the zone whose clients should use it: its own, unless that zone has more than its share and
 * another has less. Slices that are not written anyway keep their hints while these fit.
 */
export function topologyHints(drafts: readonly Draft[], nodes: Iterable<Node>): TopologyHints {
  const ready = drafts.flatMap(({ endpoints }) => endpoints.filter(isReady));
  const shares = sharesOf(nodes, ready.length);
  if ('refused' in shares) return refusing(drafts, shares.refused);
  if (ready.some(({ zone = '' }) => zone === '')) {
    return refusing(drafts, 'One or more endpoints do not have a zone specified');
  }
  const given = new Map<string, number>();
  const zones = new Map<Endpoint, string>();
  const open = drafts.filter((draft) => !keepsHints(draft, shares, { given, zones }));
  const movable = open.flatMap(({ endpoints }) => endpoints.filter(isReady));
  for (const endpoint of movable) give(endpoint, endpoint.zone ?? '', { given, zones });
  move(movable, shares, { given, zones });
  const hinted = withHints(drafts, (endpoint) => {
    const name = zones.get(endpoint);
    return name === undefined ? undefined : { forZones: [{ name }] };
  });
  return { drafts: hinted, refused: undefined };
}

const refusing = (drafts: readonly Draft[], refused: string): TopologyHints => ({
  drafts: withHints(drafts, () => undefined),
  refused,
});

/** What has been decided so far: zone → number of endpoints, and endpoint → zone. */
interface Decided {
  readonly given: Map<string, number>;
  readonly zones: Map<Endpoint, string>;
}

function give(endpoint: Endpoint, zone: string, { given, zones }: Decided): void {
  given.set(zone, (given.get(zone) ?? 0) + 1);
  zones.set(endpoint, zone);
}

/** Counts the hints of a slice that is not to be written; false, and nothing counted, if they do not fit any more. */
function keepsHints({ state, endpoints }: Draft, shares: ReadonlyMap<string, Share>, decided: Decided): boolean {
  if (state !== 'unchanged') return false;
  const kept = new Map<Endpoint, string>();
  const counts = new Map(decided.given);
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
  for (const [endpoint, zone] of kept) give(endpoint, zone, decided);
  return true;
}

/**
 * Moves endpoints one by one from the zone with most above its share to the one with most below. In the end no zone has
 * more than its maximum, so that the next plan keeps these hints.
 */
function move(endpoints: readonly Endpoint[], shares: ReadonlyMap<string, Share>, { given, zones }: Decided): void {
  const has = (zone: string): number => given.get(zone) ?? 0;
  const missing = (zone: string): number => (shares.get(zone)?.desired ?? 0) - has(zone);
  const isOver = (zone: string): boolean => has(zone) > (shares.get(zone)?.maximum ?? 0);
  const mostMissing = (names: readonly string[]): string | undefined =>
    names.toSorted((left, right) => missing(right) - missing(left))[0];
  const movable = Map.groupBy(endpoints, ({ zone = '' }) => zone);
  for (let moves = 0; moves < endpoints.length; moves++) {
    const givers = [...movable.keys()].filter((zone) => (movable.get(zone)?.length ?? 0) > 0);
    const over = givers.filter(isOver);
    const from = (over.length > 0 ? over : givers).toSorted((left, right) => missing(left) - missing(right))[0];
    const to = mostMissing([...shares].filter(([zone, { maximum }]) => has(zone) < maximum).map(([zone]) => zone));
    if (from === undefined || to === undefined || from === to) return;
    const isShort = has(to) < (shares.get(to)?.minimum ?? 0) && missing(from) < 0;
    // Less than a whole endpoint is only moved where a zone would be overloaded without it.
    if (!isOver(from) && !isShort && (missing(to) < 1 || missing(from) > -1)) return;
    const endpoint = movable.get(from)?.pop();
    if (endpoint === undefined) return;
    zones.set(endpoint, to);
    given.set(from, has(from) - 1);
    given.set(to, has(to) + 1);
  }
}
