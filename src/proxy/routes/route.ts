import { joinHostPort } from '../../api/addresses.ts';
import type { IpFamily } from '../../api/addresses.ts';
import type { Protocol } from '../../api/kinds/core/service/schema.ts';

/** Where a connection can end. */
export interface Target {
  /** Canonical text. */
  readonly address: string;
  readonly port: number;
  /** How often it is drawn, against the others: a whole number from 1. */
  readonly weight: number;
  /** How long a client that got here comes back here after its last connection; 0: it is drawn anew each time. */
  readonly stickySeconds: number;
  /** Whether it may be on this node, so that it could call itself through a virtual address (hairpin). */
  readonly isHere: boolean;
}

/** What becomes of a new connection. A `forward` has at least one target. */
export type Action =
  | { readonly type: 'forward'; readonly targets: readonly Target[] }
  /** Answered with a refusal: there is nobody behind it, and the client should know at once. */
  | { readonly type: 'reject' }
  /** Not answered: the client, or the load balancer before it, should go elsewhere. */
  | { readonly type: 'drop' };

/**
 * Whose source address is replaced by this node's: `always`; `outsiders`: everybody's but this node's Pods'; `never`.
 * A client that is sent to itself is masqueraded whatever is said here.
 */
export type Masquerade = 'always' | 'outsiders' | 'never';

/** Which part of a Service an address is. */
export type FrontendKind = 'clusterIP' | 'externalIP' | 'loadBalancer' | 'nodePort';

/** One address, protocol and port, and what becomes of connections to it. */
export interface Route {
  /** Whose it is: `Service shop/web`, `Import shop/web`. */
  readonly owner: string;
  /** The name of the port in its owner; empty where it has none. */
  readonly portName: string;
  readonly kind: FrontendKind;
  readonly family: IpFamily;
  /** Canonical text. A node port has one route for each address of the node that serves it. */
  readonly address: string;
  readonly protocol: Protocol;
  readonly port: number;
  readonly action: Action;
  readonly masquerade: Masquerade;
  /**
   * For clients on this node, its Pods and itself, where other rules hold for them: they need not be told that another
   * node is nearer to an endpoint. Left out: as everybody.
   */
  readonly near?: { readonly action: Action; readonly masquerade: Masquerade };
  /** The ranges that clients must be in, in canonical form, none inside another; everybody when left out. */
  readonly sources?: readonly string[];
  /**
   * Every endpoint that may answer a flow that exists, `address port`: whoever serves, terminating or not, near or far.
   * A UDP flow to anybody else is cut (only UDP routes have it).
   */
  readonly serving?: ReadonlySet<string>;
  /** The version of the PROXY protocol by which targets are told of the client, where they are (only TCP routes have it). */
  readonly proxyProtocol?: 'v1' | 'v2';
}

/** The key of a route: no two routes of a table have the same. */
export const routeKey = ({ address, protocol, port }: Pick<Route, 'address' | 'protocol' | 'port'>): string =>
  `${address} ${protocol} ${port}`;

/** How a target is named where it is one of several. */
export const targetKey = ({ address, port }: Pick<Target, 'address' | 'port'>): string => `${address} ${port}`;

/** An address and port as people write them. */
export const placeText = ({ address, port }: Pick<Route, 'address' | 'port'>): string => joinHostPort(address, port);

/** What a backend must know of the node and the networks around it, beside the routes. */
export interface NodeNetwork {
  /** Every address of the node itself, loopback included, canonical text. */
  readonly addresses: ReadonlySet<string>;
  /** The addresses of the node's own Pods; without any, nobody is known to be a Pod. */
  readonly podRanges: readonly string[];
  /** The ranges of virtual addresses: what is in them and belongs to nobody is dropped. May be unknown. */
  readonly serviceRanges: readonly string[];
  /** Replaces the source of everything sent to a cluster IP. */
  readonly masqueradeAll: boolean;
}

/** A network that nothing is known of yet. */
export const nowhere: NodeNetwork = { addresses: new Set(), podRanges: [], serviceRanges: [], masqueradeAll: false };
