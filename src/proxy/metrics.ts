import type { Registry } from 'prom-client';
import { Counter, Gauge, Histogram } from 'prom-client';

import type { IpFamily } from '../api/addresses.ts';
import { collectedGauge } from '../metrics/collected.ts';
import type { LoopbackObserver } from './beside-loopback.ts';
import type { NftablesObserver } from './nftables/backend.ts';
import type { RoutingTable } from './routes/table.ts';

const syncBuckets = Array.from({ length: 15 }, (_, power) => 0.001 * 2 ** power);
const steps = (from: number, to: number, by: number): readonly number[] =>
  Array.from({ length: Math.floor((to - from) / by) + 1 }, (_, index) => from + index * by);
const programmingBuckets = [0.25, 0.5, ...steps(1, 59, 1), ...steps(60, 115, 5), ...steps(120, 300, 30)];
const families: readonly IpFamily[] = ['IPv4', 'IPv6'];
const labelNames = ['ip_family'] as const;

/** Where numbers come from that are counted when they are asked for. */
interface MetricSources {
  readonly table: RoutingTable;
  /** How many owners wait for a sync, by what of them changed. */
  readonly pending: (what: 'service' | 'endpoint') => number;
}

/** What the proxy tells of itself: kube-proxy's metrics, and some of its own under `fairlead_proxy_`. */
export class ProxyMetrics {
  readonly observer: NftablesObserver & LoopbackObserver;
  readonly #sync: Readonly<Record<'all' | 'full' | 'partial', Histogram<'ip_family'>>>;
  readonly #lastSync: Gauge<'ip_family'>;
  readonly #lastQueued: Gauge<'ip_family'>;
  readonly #programming: Histogram<'ip_family'>;
  readonly #changes: Readonly<Record<'service' | 'endpoint', Counter<'ip_family'>>>;
  readonly #failures: Counter<'ip_family'>;
  readonly #noLocal: Gauge<'ip_family' | 'traffic_policy'>;
  readonly #routes: Gauge;

  constructor(registry: Registry, { table, pending }: MetricSources) {
    const registers = [registry];
    const histogram = (name: string, help: string, buckets: readonly number[]): Histogram<'ip_family'> =>
      new Histogram({ name: `kubeproxy_${name}`, help, labelNames, buckets: [...buckets], registers });
    const counter = (name: string, help: string): Counter<'ip_family'> =>
      zeroed(new Counter({ name: `kubeproxy_${name}`, help, labelNames, registers }));
    const gauge = (name: string, help: string): Gauge<'ip_family'> =>
      new Gauge({ name: `kubeproxy_${name}`, help, labelNames, registers });
    const waiting = (what: 'service' | 'endpoint', help: string): void =>
      collectedGauge(registry, `kubeproxy_sync_proxy_rules_${what}_changes_pending`, help, () =>
        families.map((ip_family) => [{ ip_family }, pending(what)]),
      );
    waiting('service', 'Services and imports that wait for a sync.');
    waiting('endpoint', 'Owners of slices that wait for a sync.');
    this.#sync = {
      all: histogram('sync_proxy_rules_duration_seconds', 'How long a sync took.', syncBuckets),
      full: histogram(
        'sync_full_proxy_rules_duration_seconds',
        'How long it took to make everything anew.',
        syncBuckets,
      ),
      partial: histogram(
        'sync_partial_proxy_rules_duration_seconds',
        'How long it took to make a change.',
        syncBuckets,
      ),
    };
    this.#lastSync = gauge('sync_proxy_rules_last_timestamp_seconds', 'When the last sync ended well.');
    this.#lastQueued = gauge('sync_proxy_rules_last_queued_timestamp_seconds', 'When a sync was last asked for.');
    this.#programming = histogram(
      'network_programming_duration_seconds',
      'Time from a change of endpoints in the cluster to the sync that made it hold here.',
      programmingBuckets,
    );
    this.#changes = {
      service: counter('sync_proxy_rules_service_changes_total', 'Changes of Services and imports.'),
      endpoint: counter('sync_proxy_rules_endpoint_changes_total', 'Changes of EndpointSlices.'),
    };
    this.#failures = counter('sync_proxy_rules_nftables_sync_failures_total', 'Syncs that failed.');
    this.#noLocal = new Gauge({
      name: 'kubeproxy_sync_proxy_rules_no_local_endpoints_total',
      help: 'Routes of policy Local that are silent, since only other nodes have endpoints.',
      labelNames: ['ip_family', 'traffic_policy'],
      registers,
      collect: () => this.#countRoutes(table),
    });
    this.#routes = new Gauge({
      name: 'fairlead_proxy_routes',
      help: 'Routes, by what becomes of connections.',
      labelNames: ['action'],
      registers,
    });
    const displaced = 'Routes that an owner claims and another owner has.';
    collectedGauge(registry, 'fairlead_proxy_displaced_routes', displaced, () => table.conflicts().length);
    this.observer = { ...nftablesObserver(registry), ...loopbackObserver(registry) };
  }

  asked(nowMs: number): void {
    for (const ip_family of families) this.#lastQueued.set({ ip_family }, nowMs / 1000);
  }

  changed(what: 'service' | 'endpoint'): void {
    for (const ip_family of families) this.#changes[what].inc({ ip_family });
  }

  synced(how: 'full' | 'partial', seconds: number, nowMs: number): void {
    for (const ip_family of families) {
      this.#sync.all.observe({ ip_family }, seconds);
      this.#sync[how].observe({ ip_family }, seconds);
      this.#lastSync.set({ ip_family }, nowMs / 1000);
    }
  }

  failed(): void {
    for (const ip_family of families) this.#failures.inc({ ip_family });
  }

  /** A change of endpoints of a family holds, so long after it happened. */
  programmed(ip_family: IpFamily, seconds: number): void {
    this.#programming.observe({ ip_family }, seconds);
  }

  #countRoutes({ routes }: RoutingTable): void {
    this.#noLocal.reset();
    this.#routes.reset();
    for (const ip_family of families) {
      for (const traffic_policy of ['internal', 'external']) this.#noLocal.set({ ip_family, traffic_policy }, 0);
    }
    for (const { family, kind, action, near } of routes.values()) {
      this.#routes.inc({ action: action.type });
      const isInternal = kind === 'clusterIP';
      if (action.type !== 'drop' || (!isInternal && near === undefined)) continue;
      this.#noLocal.inc({ ip_family: family, traffic_policy: isInternal ? 'internal' : 'external' });
    }
  }
}

/** A counter exists before its first event. */
function zeroed(counter: Counter<'ip_family'>): Counter<'ip_family'> {
  for (const ip_family of families) counter.inc({ ip_family }, 0);
  return counter;
}

function nftablesObserver(registry: Registry): NftablesObserver {
  const registers = [registry];
  const bytes = new Counter({
    name: 'fairlead_proxy_transaction_bytes_total',
    help: 'Bytes of nft commands that were run.',
    registers,
  });
  const seconds = new Histogram({
    name: 'fairlead_proxy_transaction_duration_seconds',
    help: 'How long a transaction of nft took.',
    buckets: syncBuckets,
    registers,
  });
  const restarts = new Counter({
    name: 'fairlead_proxy_nft_restarts_total',
    help: 'How often the lasting nft process was started again.',
    registers,
  });
  const flows = new Histogram({
    name: 'kubeproxy_conntrack_reconciler_sync_duration_seconds',
    help: 'How long it took to look for UDP flows to endpoints that are gone.',
    buckets: syncBuckets,
    registers,
  });
  const cut = new Counter({
    name: 'kubeproxy_conntrack_reconciler_deleted_entries_total',
    help: 'UDP flows that were cut.',
    registers,
  });
  const anew = zeroed(
    new Counter({
      name: 'kubeproxy_sync_proxy_rules_nftables_cleanup_failures_total',
      help: 'Times that old rules could not be cleared away, and the table was made anew.',
      labelNames,
      registers,
    }),
  );
  return {
    anew: () => families.forEach((ip_family) => anew.inc({ ip_family })),
    transaction: (count, duration) => {
      bytes.inc(count);
      seconds.observe(duration);
    },
    restart: () => restarts.inc(),
    flows: (count, duration) => {
      flows.observe(duration);
      cut.inc(count);
    },
  };
}

function loopbackObserver(registry: Registry): LoopbackObserver {
  const prefix = 'kubeproxy_nftables_localhost_nodeport';
  const registers = [registry];
  const listeners = new Gauge({
    name: `${prefix}_listeners`,
    help: 'Node ports at loopback.',
    labelNames,
    registers,
  });
  for (const ip_family of families) listeners.set({ ip_family }, 0);
  const failures = new Counter({
    name: `${prefix}_listener_creation_failures_total`,
    help: 'Listeners at loopback that could not be opened.',
    registers,
  });
  return {
    loopback: (ip_family, nodePorts) => listeners.set({ ip_family }, nodePorts),
    unopened: () => failures.inc(),
  };
}
