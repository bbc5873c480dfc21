// What becomes of a connection, by the table alone. Listeners ask it; the rules of nftables are compared with it.
import type { Address, IpFamily } from '../../api/addresses.ts';
import { contains, parseAddress, parseCidr } from '../../api/addresses.ts';
import type { Protocol } from '../../api/kinds/core/service/schema.ts';
import type { Action, Masquerade, NodeNetwork, Route, Target } from './route.ts';
import { routeKey } from './route.ts';

/** A connection that begins. */
export interface Flow {
  /** Canonical text, as `address`. */
  readonly source: string;
  readonly address: string;
  readonly protocol: Protocol;
  readonly port: number;
}

/** Where somebody is who connects: in a Pod of this node, on the node itself, or elsewhere. */
export type Origin = 'pod' | 'node' | 'elsewhere';

/** What becomes of it. `pass`: it is none of ours. */
export type Verdict =
  | {
      readonly type: 'forward';
      readonly route: Route;
      readonly target: Target;
      readonly masquerade: boolean;
      /** Remember the target for this client and route so long; 0: do not, and forget what was remembered. */
      readonly pinSeconds: number;
    }
  | { readonly type: 'reject' | 'drop' | 'pass'; readonly route?: Route };

/** What a decision may draw on. */
export interface Circumstances {
  /** From 0 up to 1. */
  readonly random: () => number;
  /** The target this client was sent to through this route, if that was remembered and has not expired. */
  readonly pinned?: Pick<Target, 'address' | 'port'> | undefined;
}

/** A table that can be asked; see table.ts. */
export interface DecisionTable {
  /** By `routeKey`. */
  readonly routes: ReadonlyMap<string, Route>;
  readonly network: NodeNetwork;
  /** Whether an address is a cluster IP of anybody: ports of it that nobody has are refused. */
  isClusterIp(address: string): boolean;
}

/** Decides about one connection. */
export function decide(table: DecisionTable, flow: Flow, circumstances: Circumstances): Verdict {
  const route = table.routes.get(routeKey(flow));
  if (route === undefined) return { type: unrouted(table, flow) };
  if (!admits(route, flow.source)) return { type: 'drop', route };
  const origin = originOf(table.network, flow);
  const { action, masquerade } = rulesFor(route, origin);
  if (action.type !== 'forward') return { type: action.type, route };
  const target = choose(action.targets, circumstances);
  // Nobody but an endpoint of this node can call itself through this node.
  const isHairpin = target.isHere && target.address === flow.source;
  return {
    type: 'forward',
    route,
    target,
    masquerade: isHairpin || isMasqueraded(masquerade, { route, origin, network: table.network }),
    pinSeconds: target.stickySeconds,
  };
}

/** What holds for clients at a place. */
export function rulesFor(route: Route, origin: Origin): { readonly action: Action; readonly masquerade: Masquerade } {
  return origin === 'elsewhere' ? route : (route.near ?? route);
}

/** Whether the sources of a route include a client. */
export function admits({ sources }: Route, source: string): boolean {
  if (sources === undefined) return true;
  const address = parseAddress(source);
  return address !== undefined && isInAny(sources, address);
}

/** Where a client is. */
export function originOf(
  { podRanges, addresses }: NodeNetwork,
  { source, address }: Pick<Flow, 'source' | 'address'>,
): Origin {
  // Where the kernel has virtual addresses for its own, a client of this machine calls one from that very address.
  if (source === address) return 'node';
  const parsed = parseAddress(source);
  if (parsed !== undefined && isInAny(podRanges, parsed)) return 'pod';
  return addresses.has(source) || isLoopback(source) ? 'node' : 'elsewhere';
}

/** Whether an address is one that a machine has without being told, and that nobody else can have. */
export const isLoopback = (address: string): boolean => address === '::1' || address.startsWith('127.');

/** The target of one draw: the pinned one while it is still a target that remembers, else any, by weight. */
export function choose(targets: readonly Target[], { random, pinned }: Circumstances): Target {
  const kept =
    pinned &&
    targets.find(
      ({ address, port, stickySeconds }) => stickySeconds > 0 && address === pinned.address && port === pinned.port,
    );
  if (kept !== undefined) return kept;
  let left = Math.floor(random() * targets.reduce((sum, { weight }) => sum + weight, 0));
  for (const target of targets) {
    left -= target.weight;
    if (left < 0) return target;
  }
  throw new Error(`bug: nothing drawn from ${targets.length} targets`);
}

function isMasqueraded(
  masquerade: Masquerade,
  { route, origin, network }: { readonly route: Route; readonly origin: Origin; readonly network: NodeNetwork },
): boolean {
  if (masquerade === 'always' || (route.kind === 'clusterIP' && network.masqueradeAll)) return true;
  if (masquerade === 'never' || origin === 'pod') return false;
  // Where no Pod can be told from anybody else, a cluster IP keeps the client's address: most clients are Pods.
  return route.kind !== 'clusterIP' || knowsPods(network, route.family);
}

/** Whether Pods of this node can be told by their address, in a family. */
export const knowsPods = ({ podRanges }: NodeNetwork, family: IpFamily): boolean =>
  podRanges.some((range) => parseCidr(range)?.family === family);

function unrouted(table: DecisionTable, { address }: Flow): 'reject' | 'drop' | 'pass' {
  if (table.isClusterIp(address)) return 'reject';
  const parsed = parseAddress(address);
  return parsed !== undefined && isInAny(table.network.serviceRanges, parsed) ? 'drop' : 'pass';
}

function isInAny(ranges: readonly string[], address: Address): boolean {
  return ranges.some((range) => {
    const cidr = parseCidr(range);
    return cidr !== undefined && contains(cidr, address);
  });
}
