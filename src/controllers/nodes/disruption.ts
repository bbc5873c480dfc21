// How fast Pods are evicted from failed nodes. If many fail at once, the network is the likely reason, and evicting
// would move all load to the nodes that are left.

/** The nodes of a zone. */
export interface ZoneHealth {
  readonly nodes: number;
  readonly notReady: number;
}

/** Nodes per second from which Pods are evicted in a zone in the normal case. */
const normalRate = 0.1;
/** The rate in a large zone where most nodes failed. */
const reducedRate = 0.01;
/** A zone with more nodes than this is large. */
const largeZone = 50;
/** The fraction of failed nodes from which a zone counts as disrupted, and the number that it takes. */
const unhealthyFraction = 0.55;
const unhealthyNodes = 3;

const isDead = ({ nodes, notReady }: ZoneHealth): boolean => nodes > 0 && notReady === nodes;

/** Whether no zone has a ready node. Then nothing is evicted, and evictions that have not happened yet are cancelled. */
export const isOutage = (zones: Iterable<ZoneHealth>): boolean => [...zones].every(isDead);

/** Nodes per second of one zone; 0: none. */
export function evictionRate(zone: ZoneHealth, all: Iterable<ZoneHealth>): number {
  if (isOutage(all)) return 0;
  if (isDead(zone)) return normalRate;
  const isDisrupted = zone.notReady >= unhealthyNodes && zone.notReady / zone.nodes >= unhealthyFraction;
  if (!isDisrupted) return normalRate;
  return zone.nodes > largeZone ? reducedRate : 0;
}
