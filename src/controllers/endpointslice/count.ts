import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { SliceMetrics } from '../metrics.ts';
import type { SliceWrites } from '../slices.ts';

/** Counts how many endpoints and slices a plan changes. */
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
