import { joinHostPort } from '../../api/addresses.ts';
import type { IpFamily } from '../../api/addresses.ts';
import type { Protocol } from '../../api/kinds/core/service/schema.ts';

/** An endpoint that connections are forwarded to. */
export interface Target {
  /** Canonical text. */
  readonly address: string;
  readonly port: number;
  /** Its share of connections relative to other targets: an integer from 1. */
  readonly weight: number;
  /** The timeout of session affinity since the client's last connection; 0: no affinity. */
  readonly stickySeconds: number;
  /** Whether it may be on this node, so that it could connect to itself through a virtual address (hairpin). */
  readonly isLocal: boolean;
}

/** What the proxy does with a new connection. `forward` has at least one target. */
export type Action =
  | { readonly type: 'forward'; readonly targets: readonly Target[] }
  /** Rejected: there is no endpoint, and the client should get an error at once. */
  | { readonly type: 'reject' }
  /** Dropped without a reply: the client or load balancer should try another node. */
  | { readonly type: 'drop' };

/**
 * Clients whose source address is replaced by this node's: all, all but this node's Pods (`outsiders`), or none. A connection
 * of an endpoint to itself is always masqueraded.
 */
export type Masquerade = 'always' | 'outsiders' | 'never';

/** The kind of a virtual address. */
export type FrontendKind = 'clusterIP' | 'externalIP' | 'loadBalancer' | 'nodePort';

/** A virtual address, protocol and port, and the action for connections to it. */
export interface Route {
  /** Its owner: `Service shop/web`, `Import shop/web`. */
  readonly owner: string;
  /** The name of the port in its owner; empty if it has none. */
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
   * The rules for clients on this node (its Pods and processes) under external policy Local, which does not apply to them.
   * Left out: as for all clients.
   */
  readonly near?: { readonly action: Action; readonly masquerade: Masquerade };
  /** The allowed source ranges, canonical and disjoint; left out: all. */
  readonly sources?: readonly string[];
  /**
   * All serving endpoints, `address port`, also terminating ones and those that selection leaves out. UDP flows to others are
   * ended. Only UDP routes have it.
   */
  readonly serving?: ReadonlySet<string>;
  /** The version of the PROXY protocol header that targets receive. Only TCP routes have it. */
  readonly proxyProtocol?: 'v1' | 'v2';
}

/** The unique key of a route in a table. */
export const routeKey = ({ address, protocol, port }: Pick<Route, 'address' | 'protocol' | 'port'>): string =>
  `${address} ${protocol} ${port}`;

/** The key of a target in a route. */
export const targetKey = ({ address, port }: Pick<Target, 'address' | 'port'>): string => `${address} ${port}`;

/** An address and port in messages. */
export const placeText = ({ address, port }: Pick<Route, 'address' | 'port'>): string => joinHostPort(address, port);

/** The node and its networks. */
export interface NodeNetwork {
  /** All addresses of the node, with loopback, canonical text. */
  readonly addresses: ReadonlySet<string>;
  /** The ranges of the node's Pods; if empty, no client is known to be a Pod. */
  readonly podRanges: readonly string[];
  /** The ranges of virtual addresses: packets to unused addresses in them are dropped. May be empty. */
  readonly serviceRanges: readonly string[];
  /** Masquerades all connections to cluster IPs. */
  readonly masqueradeAll: boolean;
}

/** The network before anything is known. */
export const unknownNetwork: NodeNetwork = {
  addresses: new Set(),
  podRanges: [],
  serviceRanges: [],
  masqueradeAll: false,
};
