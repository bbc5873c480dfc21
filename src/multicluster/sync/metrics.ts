import type { Registry } from 'prom-client';
import { Counter, Gauge, Histogram } from 'prom-client';

import type { Samples } from '../../metrics/collected.ts';
import { collectedGauge } from '../../metrics/collected.ts';

/** What the controller counts; listed in its README. */
export interface SyncMetrics {
  /** Writes into members, by cluster, kind and verb. */
  readonly writes: Counter<'cluster' | 'kind' | 'verb'>;
  /** From a change that was seen in a source until a member had taken it. */
  readonly propagation: Histogram<'importer'>;
  readonly connected: Gauge<'cluster'>;
  readonly brake: Counter<'importer'>;
}

export interface MetricsSource {
  services(): number;
  conflicts(): number;
  /** Member → how much of what it exports is left out. */
  dropped(): ReadonlyMap<string, number>;
  /** Member → whether it has more than its limit. */
  excessive(): ReadonlyMap<string, boolean>;
  /** Member → how long it took for its last answer. */
  answeredInMs(): ReadonlyMap<string, number>;
  /** Importer → services that wait to be written there. */
  waiting(): ReadonlyMap<string, number>;
}

/** The metrics of the controller in one registry. */
export function syncMetrics(registry: Registry, source: MetricsSource): SyncMetrics {
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => Samples): void =>
    collectedGauge(registry, `fairlead_multicluster_${name}`, help, read);
  gauge('services', 'Services that some cluster exports.', () => source.services());
  gauge('conflicts', 'Services about which clusters disagree.', () => source.conflicts());
  gauge('dropped', 'Exports, endpoints, slices, labels and annotations of a member that are left out.', () =>
    Array.from(source.dropped(), ([cluster, count]) => [{ cluster }, count]),
  );
  gauge('waiting_services', 'Services that wait to be looked at in a member; 0 in the steady state.', () =>
    Array.from(source.waiting(), ([importer, count]) => [{ importer }, count]),
  );
  gauge('member_over_limit', 'Whether a member has more objects than its limit, and is not read.', () =>
    Array.from(source.excessive(), ([cluster, isExcessive]) => [{ cluster }, isExcessive ? 1 : 0]),
  );
  gauge('member_answer_seconds', 'How long a member took for its last answer to a probe.', () =>
    Array.from(source.answeredInMs(), ([cluster, ms]) => [{ cluster }, ms / 1000]),
  );
  return {
    writes: new Counter({
      name: 'fairlead_multicluster_writes_total',
      help: 'Writes into member clusters.',
      labelNames: ['cluster', 'kind', 'verb'],
      registers,
    }),
    propagation: new Histogram({
      name: 'fairlead_multicluster_propagation_seconds',
      help: 'Time from a change seen in a source cluster until an importing cluster has it.',
      labelNames: ['importer'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      registers,
    }),
    connected: new Gauge({
      name: 'fairlead_multicluster_member_connected',
      help: 'Whether a member answers and has been read.',
      labelNames: ['cluster'],
      registers,
    }),
    brake: new Counter({
      name: 'fairlead_multicluster_deletions_held_total',
      help: 'Deletions of slices that were held back because there were too many at once.',
      labelNames: ['importer'],
      registers,
    }),
  };
}
