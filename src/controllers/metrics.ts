import type { Registry } from 'prom-client';
import { Counter, Histogram } from 'prom-client';
import type { Service } from '../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import type { Samples } from '../metrics/collected.ts';
import { collectedGauge } from '../metrics/collected.ts';
import { SliceTotals } from './endpointslice/totals.ts';
import type { SliceWrites } from './slices.ts';

/** Metrics of the controllers, named as in kube-controller-manager. */
export interface ControllersMetrics {
  readonly slices: SliceMetrics;
  readonly mirrors: Pick<SliceMetrics, 'changes'>;
}

/** Metrics of the EndpointSlice controller. */
export interface SliceMetrics {
  readonly changes: Counter<'operation'>;
  readonly syncs: Counter<'result'>;
  readonly added: Histogram;
  readonly removed: Histogram;
  readonly changedPerSync: Histogram<'topology' | 'traffic_distribution'>;
  /** Totals over all Services, collected when metrics are scraped. */
  readonly totals: SliceTotals;
}

/** Registers all metrics except those of the queues. */
export function controllersMetrics(registry: Registry): ControllersMetrics {
  const registers = [registry];
  const slice = 'endpoint_slice_controller';
  const mirror = 'endpoint_slice_mirroring_controller';
  // The buckets of kube-controller-manager: 2^2 … 2^15.
  const buckets = Array.from({ length: 14 }, (_, index) => 2 ** (index + 2));
  const changes = (subsystem: string): Counter<'operation'> => {
    const counter = new Counter({
      name: `${subsystem}_changes`,
      help: 'Number of EndpointSlice changes',
      labelNames: ['operation'],
      registers,
    });
    for (const operation of ['create', 'update', 'delete']) counter.inc({ operation }, 0);
    return counter;
  };
  const totals = new SliceTotals();
  totalGauges(totals, slice, registry);
  return {
    slices: {
      totals,
      changes: changes(slice),
      syncs: new Counter({
        name: `${slice}_syncs`,
        help: 'Number of EndpointSlice syncs',
        labelNames: ['result'],
        registers,
      }),
      added: new Histogram({
        name: `${slice}_endpoints_added_per_sync`,
        help: 'Number of endpoints added on each Service sync',
        buckets,
        registers,
      }),
      removed: new Histogram({
        name: `${slice}_endpoints_removed_per_sync`,
        help: 'Number of endpoints removed on each Service sync',
        buckets,
        registers,
      }),
      changedPerSync: new Histogram({
        name: `${slice}_endpointslices_changed_per_sync`,
        help: 'Number of EndpointSlices changed on each Service sync',
        labelNames: ['topology', 'traffic_distribution'],
        registers,
      }),
    },
    mirrors: { changes: changes(mirror) },
  };
}

function totalGauges(totals: SliceTotals, subsystem: string, registry: Registry): void {
  const gauge = (name: string, help: string, read: () => Samples): void =>
    collectedGauge(registry, `${subsystem}_${name}`, help, read);
  gauge('num_endpoint_slices', 'Number of EndpointSlices', () => totals.slices);
  const desired = 'Number of EndpointSlices that would exist with perfect endpoint allocation';
  gauge('desired_endpoint_slices', desired, () => totals.desiredSlices);
  gauge('endpoints_desired', 'Number of endpoints desired', () => totals.endpoints);
  const distributed = 'Number of Services using some specific trafficDistribution';
  gauge('services_count_by_traffic_distribution', distributed, () =>
    Array.from(totals.distributions, ([name, services]) => [{ traffic_distribution: name }, services]),
  );
}

/** Observes how many endpoints and slices a plan changes. */
export function countWrites(
  metrics: SliceMetrics,
  { create, update, remove }: SliceWrites,
  { service, slices }: { readonly service: Service; readonly slices: readonly EndpointSlice[] },
): void {
  const touched = new Set([...update, ...remove].map(({ metadata }) => metadata.name));
  const before = addressesIn(slices.filter(({ metadata }) => touched.has(metadata.name)));
  const after = addressesIn([...create, ...update]);
  metrics.added.observe(after.difference(before).size);
  metrics.removed.observe(before.difference(after).size);
  const { annotations = {} } = service.metadata;
  const mode =
    annotations['service.kubernetes.io/topology-aware-hints'] ?? annotations['service.kubernetes.io/topology-mode'];
  const labels = {
    topology: mode === 'Auto' || mode === 'auto' ? 'Auto' : 'Disabled',
    traffic_distribution: service.spec.trafficDistribution ?? '',
  };
  metrics.changedPerSync.observe(labels, create.length + update.length + remove.length);
}

const addressesIn = (slices: readonly EndpointSlice[]): Set<string> =>
  new Set(slices.flatMap(({ endpoints }) => (endpoints ?? []).map(({ addresses }) => addresses?.[0] ?? '')));
