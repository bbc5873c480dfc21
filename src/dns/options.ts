import type { Name } from '../dnswire/data.ts';
import type { CacheOptions } from './forward/cache.ts';
import type { ForwarderOptions } from './forward/forwarder.ts';
import type { Endpoint } from './forward/udp.ts';
import type { ServedZones } from './records/apex.ts';

/** Options of forwarding and recursion. */
export interface ForwardSettings extends Pick<
  ForwarderOptions,
  'upstream' | 'maxInFlight' | 'maxWaitingPerClient' | 'deadlineMs' | 'refusePrivate'
> {
  /** undefined: the servers of /etc/resolv.conf; empty: nothing is forwarded. */
  readonly upstreams: readonly Endpoint[] | undefined;
  readonly routes: ReadonlyMap<Name, readonly Endpoint[]>;
  readonly cache: Omit<CacheOptions, 'clock' | 'random' | 'counts'>;
  /** CIDRs that may recurse; undefined: those of `defaultAllowed`. */
  readonly allow: readonly string[] | undefined;
  /** Recursive queries per second of one client; 0: no limit. */
  readonly perSecond: number;
  /** Whether the AD flag of upstream replies is passed on. */
  readonly trustAd: boolean;
}

/** All options of the DNS server, validated and with defaults. */
export interface DnsOptions {
  readonly listen: readonly Endpoint[];
  readonly workers: number;
  /** Open TCP connections; left out: 1024. */
  readonly maxConnections?: number;
  /** Whether another process may listen on the same port (SO_REUSEPORT). */
  readonly sharePort: boolean;
  readonly zones: ServedZones;
  /** Namespaces whose objects are published; undefined: all. */
  readonly namespaces: ReadonlySet<string> | undefined;
  /** Whether `srvServiceName` of ports is used. */
  readonly srvServiceNames: boolean;
  readonly searchCompletion: boolean;
  readonly filterAaaa: boolean;
  readonly forward: ForwardSettings;
  readonly transfer: { readonly to: readonly string[]; readonly notify: readonly Endpoint[] };
  /** Listen addresses of the HTTP endpoints; undefined: disabled. */
  readonly health: Endpoint | undefined;
  readonly ready: Endpoint | undefined;
  readonly metrics: Endpoint | undefined;
  /** UDP replies per second to one client; 0: no limit. */
  readonly responseRate: number;
  /** How long queries are answered after a stop was requested. */
  readonly lameduckMs: number;
}

/** The defaults, which are those of CoreDNS with a few exceptions. */
export const defaultDnsOptions = {
  listen: [{ address: '::', port: 53 }],
  workers: 1,
  sharePort: false,
  zones: {
    clusterDomain: 'cluster.local',
    superclusterDomain: 'supercluster.local',
    clustersetDomain: 'clusterset.local',
    pods: 'disabled',
    endpointPodNames: false,
    ignoreEmptyService: false,
    noEndpoints: false,
    zonal: false,
  },
  namespaces: undefined,
  srvServiceNames: true,
  searchCompletion: false,
  filterAaaa: false,
  forward: {
    upstreams: undefined,
    routes: new Map(),
    upstream: { forceTcp: false, mixCase: true, maxConcurrent: 500 },
    maxInFlight: 1000,
    maxWaitingPerClient: 256,
    deadlineMs: 4000,
    refusePrivate: false,
    trustAd: false,
    cache: {
      entries: 10_000,
      bytes: 16 * 1024 * 1024,
      maxTtl: 3600,
      maxNegativeTtl: 300,
      minTtl: 0,
      staleFor: 86_400,
    },
    allow: undefined,
    perSecond: 1000,
  },
  transfer: { to: [], notify: [] },
  health: { address: '127.0.0.1', port: 10_361 },
  ready: { address: '127.0.0.1', port: 10_361 },
  metrics: { address: '127.0.0.1', port: 10_361 },
  responseRate: 0,
  lameduckMs: 5000,
} as const satisfies DnsOptions;
