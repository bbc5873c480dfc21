// Decides about a connection by the routing table alone. Listeners call it; tests compare the rules of nftables with it.
import type { Address, IpFamily } from '../../api/addresses.ts';
import { contains, isLoopback, parseAddress, parseCidr } from '../../api/addresses.ts';
import type { Protocol } from '../../api/kinds/core/service/schema.ts';
import type { Action, Masquerade, NodeNetwork, Route, Target } from './route.ts';
import { routeKey } from './route.ts';

/** A new connection. */
export interface Flow {
  /** Canonical text, as `address`. */
  readonly source: string;
  readonly address: string;
  readonly protocol: Protocol;
  readonly port: number;
}

/** The origin of a client: a Pod of this node, the node itself, or elsewhere. */
export type Origin = 'pod' | 'node' | 'elsewhere';

/** The decision. `pass`: the address is not a virtual address. */
export type Verdict =
  | {
      readonly type: 'forward';
      readonly route: Route;
      readonly target: Target;
      readonly masquerade: boolean;
      /** The affinity timeout of the target; 0: no affinity, and an existing entry is removed. */
      readonly affinitySeconds: number;
    }
  | { readonly type: 'reject' | 'drop' | 'pass'; readonly route?: Route };

/** Other inputs of a decision. */
export interface DecisionInput {
  /** From 0 up to 1. */
  readonly random: () => number;
  /** The target in the client's unexpired affinity entry for this route. */
  readonly affinityTarget?: Pick<Target, 'address' | 'port'> | undefined;
}

/** What decisions read; see table.ts. */
export interface DecisionTable {
  /** By `routeKey`. */
  readonly routes: ReadonlyMap<string, Route>;
  readonly network: NodeNetwork;
  /** Whether an address is a cluster IP: connections to its other ports are rejected. */
  isClusterIp(address: string): boolean;
}

/** Decides about one connection. */
export function decide(table: DecisionTable, flow: Flow, input: DecisionInput): Verdict {
  const route = table.routes.get(routeKey(flow));
  if (route === undefined) return { type: unrouted(table, flow) };
  if (!admits(route, flow.source)) return { type: 'drop', route };
  const origin = originOf(table.network, flow);
  const { action, masquerade } = rulesFor(route, origin);
  if (action.type !== 'forward') return { type: action.type, route };
  const target = choose(action.targets, input);
  // Only an endpoint of this node can connect to itself through this node.
  const isHairpin = target.isLocal && target.address === flow.source;
  return {
    type: 'forward',
    route,
    target,
    masquerade: isHairpin || isMasqueraded(masquerade, { route, origin, network: table.network }),
    affinitySeconds: target.stickySeconds,
  };
}

/** The action and masquerading for clients of an origin. */
export function rulesFor(route: Route, origin: Origin): { readonly action: Action; readonly masquerade: Masquerade } {
  return origin === 'elsewhere' ? route : (route.near ?? route);
}

/** Whether the source ranges of a route include a client. */
export function admits({ sources }: Route, source: string): boolean {
  if (sources === undefined) return true;
  const address = parseAddress(source);
  return address !== undefined && isInAny(sources, address);
}

/** The origin of a client. */
export function originOf(
  { podRanges, addresses }: NodeNetwork,
  { source, address }: Pick<Flow, 'source' | 'address'>,
): Origin {
  // If virtual addresses are local to the kernel, a client of this machine connects from the virtual address itself.
  if (source === address) return 'node';
  const parsed = parseAddress(source);
  if (parsed !== undefined && isInAny(podRanges, parsed)) return 'pod';
  return addresses.has(source) || isLoopback(source) ? 'node' : 'elsewhere';
}

/** The affinity target while it is still a target with affinity; otherwise a random target by weight. */
export function choose(targets: readonly Target[], { random, affinityTarget }: DecisionInput): Target {
  const kept =
    affinityTarget &&
    targets.find(
      ({ address, port, stickySeconds }) =>
        stickySeconds > 0 && address === affinityTarget.address && port === affinityTarget.port,
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
  // If the Pod ranges are unknown, cluster IPs keep the client's address: most clients are Pods.
  return route.kind !== 'clusterIP' || knowsPods(network, route.family);
}

/** Whether the Pod ranges of this node are known in a family. */
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
