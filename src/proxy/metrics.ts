import type { Registry } from 'prom-client';
import { Counter, Gauge, Histogram } from 'prom-client';

import type { IpFamily } from '../api/addresses.ts';
import { collectedGauge } from '../metrics/collected.ts';
import type { LoopbackObserver } from './loopback-backend.ts';
import type { NftablesObserver } from './nftables/backend.ts';
import type { RoutingTable } from './routes/table.ts';

const syncBuckets = Array.from({ length: 15 }, (_, power) => 0.001 * 2 ** power);
const steps = (from: number, to: number, by: number): readonly number[] =>
  Array.from({ length: Math.floor((to - from) / by) + 1 }, (_, index) => from + index * by);
const programmingBuckets = [0.25, 0.5, ...steps(1, 59, 1), ...steps(60, 115, 5), ...steps(120, 300, 30)];
const families: readonly IpFamily[] = ['IPv4', 'IPv6'];
const labelNames = ['ip_family'] as const;

/** Sources of metrics that are read when they are collected. */
interface MetricSources {
  readonly table: RoutingTable;
  /** The number of owners that wait for a sync, by what changed. */
  readonly pending: (what: 'service' | 'endpoint') => number;
}

/** kube-proxy's metrics, and our own under `fairlead_proxy_`. */
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
    waiting('service', 'Services and imports with changes that are not synced yet.');
    waiting('endpoint', 'Services and imports with changes of endpoints that are not synced yet.');
    this.#sync = {
      all: histogram('sync_proxy_rules_duration_seconds', 'Duration of a sync.', syncBuckets),
      full: histogram('sync_full_proxy_rules_duration_seconds', 'Duration of a full sync.', syncBuckets),
      partial: histogram('sync_partial_proxy_rules_duration_seconds', 'Duration of a partial sync.', syncBuckets),
    };
    this.#lastSync = gauge('sync_proxy_rules_last_timestamp_seconds', 'Time of the last successful sync.');
    this.#lastQueued = gauge('sync_proxy_rules_last_queued_timestamp_seconds', 'Time when a sync was last queued.');
    this.#programming = histogram(
      'network_programming_duration_seconds',
      'Time from a change of endpoints in the cluster to the sync that applied it.',
      programmingBuckets,
    );
    this.#changes = {
      service: counter('sync_proxy_rules_service_changes_total', 'Changes of Services and imports.'),
      endpoint: counter('sync_proxy_rules_endpoint_changes_total', 'Changes of EndpointSlices.'),
    };
    this.#failures = counter('sync_proxy_rules_nftables_sync_failures_total', 'Syncs that failed.');
    this.#noLocal = new Gauge({
      name: 'kubeproxy_sync_proxy_rules_no_local_endpoints_total',
      help: 'Routes of policy Local without endpoints on this node.',
      labelNames: ['ip_family', 'traffic_policy'],
      registers,
      collect: () => this.#countRoutes(table),
    });
    this.#routes = new Gauge({
      name: 'fairlead_proxy_routes',
      help: 'Routes by action.',
      labelNames: ['action'],
      registers,
    });
    const displaced = 'Routes whose address or port belongs to another owner.';
    collectedGauge(registry, 'fairlead_proxy_displaced_routes', displaced, () => table.conflicts().length);
    this.observer = { ...nftablesObserver(registry), ...loopbackObserver(registry) };
  }

  queued(nowMs: number): void {
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

  /** Records the time from a change of endpoints to the sync that applied it. */
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
    help: 'Bytes of nft commands.',
    registers,
  });
  const seconds = new Histogram({
    name: 'fairlead_proxy_transaction_duration_seconds',
    help: 'Duration of an nft transaction.',
    buckets: syncBuckets,
    registers,
  });
  const restarts = new Counter({
    name: 'fairlead_proxy_nft_restarts_total',
    help: 'Restarts of the nft process.',
    registers,
  });
  const flows = new Histogram({
    name: 'kubeproxy_conntrack_reconciler_sync_duration_seconds',
    help: 'Duration of the search for UDP flows to removed endpoints.',
    buckets: syncBuckets,
    registers,
  });
  const cut = new Counter({
    name: 'kubeproxy_conntrack_reconciler_deleted_entries_total',
    help: 'Deleted UDP flows.',
    registers,
  });
  const recreated = zeroed(
    new Counter({
      name: 'kubeproxy_sync_proxy_rules_nftables_cleanup_failures_total',
      help: 'Times that the table could not be updated and was recreated.',
      labelNames,
      registers,
    }),
  );
  return {
    recreated: () => families.forEach((ip_family) => recreated.inc({ ip_family })),
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
    help: 'Node ports at loopback addresses.',
    labelNames,
    registers,
  });
  for (const ip_family of families) listeners.set({ ip_family }, 0);
  const failures = new Counter({
    name: `${prefix}_listener_creation_failures_total`,
    help: 'Listeners at loopback addresses that could not be opened.',
    registers,
  });
  return {
    loopback: (ip_family, nodePorts) => listeners.set({ ip_family }, nodePorts),
    unopened: () => failures.inc(),
  };
}
