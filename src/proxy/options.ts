import type { BackendOptions, ProxyMode } from './modes.ts';
import type { RouteOptions } from './routes/options.ts';
import { defaultRouteOptions } from './routes/options.ts';

/** Options of a proxy. */
export interface ProxyOptions {
  /** The name of the Node it runs on. The object need not exist. */
  readonly nodeName: string;
  /** How routes are implemented. */
  readonly mode: ProxyMode;
  /** Options of the mode. */
  readonly backend?: BackendOptions;
  /**
   * The addresses of node ports: those of the machine in these ranges, and with `primary` the addresses in the Node's status.
   * nftables serves loopback addresses only for ranges within loopback. Default: `primary`.
   */
  readonly nodePortAddresses?: readonly string[];
  /** Ranges of the node's Pods, whose source address is kept. Default: `podCIDRs` of the Node. */
  readonly podRanges?: readonly string[];
  /** Ranges of virtual addresses, beside those that ServiceCIDR objects name. */
  readonly serviceRanges?: readonly string[];
  /** Replaces the source of everything sent to a cluster IP. Default: false. */
  readonly masqueradeAll?: boolean;
  /** Ports that a load balancer reports as not open; see `RouteOptions`. Default: `status`. */
  readonly lbPortGate?: 'status' | 'ignore';
  /** The id of this cluster in its cluster set, as in the `source-cluster` label of imported slices. */
  readonly clusterId?: string;
  /** The minimum time between two syncs. Default: 100 ms. */
  readonly minSyncPeriodMs?: number;
  /** The period of full syncs. Default: an hour. */
  readonly fullSyncPeriodMs?: number;
  /** The listen address for health checks of load balancers. Default: all addresses. */
  readonly healthCheckHost?: string;
  /** The maximum number of health check ports. Default: no limit. */
  readonly healthCheckPorts?: number;
}

/** The options of routes. */
export const routeOptionsOf = ({ mode, lbPortGate = defaultRouteOptions.lbPortGate }: ProxyOptions): RouteOptions => ({
  lbPortGate,
  relays: mode === 'nftables' ? 'loopback' : 'everywhere',
});
