import type { BackendOptions, ProxyMode } from './modes.ts';
import type { RouteOptions } from './routes/options.ts';
import { defaultRouteOptions } from './routes/options.ts';

/** How a proxy works. */
export interface ProxyOptions {
  /** Whose routes it makes: the name of the Node it runs on. It need not exist. */
  readonly nodeName: string;
  /** How routes are made to happen. */
  readonly mode: ProxyMode;
  /** What the mode is told. */
  readonly backend?: BackendOptions;
  /**
   * Where node ports are served: every address of the machine in these ranges, and where `primary` is among them, those
   * that the Node object says. nftables serves loopback only for ranges that are within it. Default: `primary` alone.
   */
  readonly nodePortAddresses?: readonly string[];
  /** The addresses of Pods; their clients keep their address. Default: what the Node object says are its Pods'. */
  readonly podRanges?: readonly string[];
  /** Ranges of virtual addresses, beside those that ServiceCIDR objects name. */
  readonly serviceRanges?: readonly string[];
  /** Replaces the source of everything sent to a cluster IP. Default: false. */
  readonly masqueradeAll?: boolean;
  /** Ports that a load balancer says it could not open; see `RouteOptions`. Default: `status`. */
  readonly lbPortGate?: 'status' | 'ignore';
  /** The id of this cluster where clusters are joined, as in the `source-cluster` label of imported slices. */
  readonly clusterId?: string;
  /** The least time from the end of one sync to the start of the next. Default: 100 ms. */
  readonly minSyncPeriodMs?: number;
  /** How often everything is made again, whether or not anything changed. Default: an hour. */
  readonly fullSyncPeriodMs?: number;
  /** Where health checks of load balancers are answered. Default: every address. */
  readonly healthCheckHost?: string;
  /** Ports that may be listened on for them. Default: no bound. */
  readonly healthCheckPorts?: number;
}

/** How routes are made under these options. */
export const routeOptionsOf = ({ mode, lbPortGate = defaultRouteOptions.lbPortGate }: ProxyOptions): RouteOptions => ({
  lbPortGate,
  relays: mode === 'nftables' ? 'loopback' : 'everywhere',
});
