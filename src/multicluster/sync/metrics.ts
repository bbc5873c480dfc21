import type { Registry } from 'prom-client';
import { Counter, Gauge, Histogram } from 'prom-client';

import type { Samples } from '../../metrics/collected.ts';
import { collectedGauge } from '../../metrics/collected.ts';
import type { Write } from '../project/desired.ts';

/** The metrics that the controller sets; listed in docs/reference/metrics.md. */
export interface SyncMetrics {
  /** Counts a write into a member. */
  readonly countWrite: (cluster: string, write: Pick<Write, 'kind' | 'verb'>) => void;
  readonly propagation: Histogram<'importer'>;
  readonly connected: Gauge<'cluster'>;
  readonly deletionsHeld: Counter<'importer'>;
}

/** Values that are read when metrics are collected. */
export interface MetricsSource {
  services(): number;
  conflicts(): number;
  /** Member → how much of its exports is left out. */
  dropped(): ReadonlyMap<string, number>;
  /** Member → whether it has more objects than its limit. */
  excessive(): ReadonlyMap<string, boolean>;
  /** Member → latency of its last probe. */
  answeredInMs(): ReadonlyMap<string, number>;
  /** Member → how far its clock is ahead; members whose clock is unknown are omitted. */
  clockSkewsMs(): ReadonlyMap<string, number>;
  /** Importer → services that wait to be reconciled. */
  waiting(): ReadonlyMap<string, number>;
}

/** Registers the metrics of the controller. */
export function syncMetrics(registry: Registry, source: MetricsSource): SyncMetrics {
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => Samples): void =>
    collectedGauge(registry, `fairlead_multicluster_${name}`, help, read);
  gauge('services', 'Exported services.', () => source.services());
  gauge('conflicts', 'Services whose exports conflict.', () => source.conflicts());
  gauge('dropped', 'Exports, endpoints, slices, labels and annotations of a member that are ignored.', () =>
    Array.from(source.dropped(), ([cluster, count]) => [{ cluster }, count]),
  );
  gauge('waiting_services', 'Services that wait to be reconciled in a member; 0 in the steady state.', () =>
    Array.from(source.waiting(), ([importer, count]) => [{ importer }, count]),
  );
  gauge('member_over_limit', 'Whether a member has more objects than its limit, so that it is not read.', () =>
    Array.from(source.excessive(), ([cluster, isExcessive]) => [{ cluster }, isExcessive ? 1 : 0]),
  );
  gauge(
    'member_clock_skew_seconds',
    'How far the clock of a member is ahead of the local clock, to within a second.',
    () => Array.from(source.clockSkewsMs(), ([cluster, ms]) => [{ cluster }, ms / 1000]),
  );
  gauge('member_answer_seconds', 'Latency of the last probe of a member.', () =>
    Array.from(source.answeredInMs(), ([cluster, ms]) => [{ cluster }, ms / 1000]),
  );
  const writes = new Counter({
    name: 'fairlead_multicluster_writes_total',
    help: 'Writes into member clusters.',
    labelNames: ['cluster', 'kind', 'verb'],
    registers,
  });
  return {
    countWrite: (cluster, { kind, verb }) => writes.inc({ cluster, kind: kind.kind, verb }),
    propagation: new Histogram({
      name: 'fairlead_multicluster_propagation_seconds',
      help: 'Time from a change in a source cluster until it is written to an importing cluster.',
      labelNames: ['importer'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      registers,
    }),
    connected: new Gauge({
      name: 'fairlead_multicluster_member_connected',
      help: 'Whether a member answers and its caches have synced.',
      labelNames: ['cluster'],
      registers,
    }),
    deletionsHeld: new Counter({
      name: 'fairlead_multicluster_deletions_held_total',
      help: 'Deletions of slices that were delayed because there were too many at once.',
      labelNames: ['importer'],
      registers,
    }),
  };
}
