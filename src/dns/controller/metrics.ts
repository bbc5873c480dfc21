import type { Registry } from 'prom-client';
import { Histogram } from 'prom-client';

import type { Service } from '../../api/kinds/core/service/schema.ts';
import { triggerTimeAnnotation } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { collectedGauge } from '../../metrics/collected.ts';
import { reachOf } from '../records/service.ts';
import { annotatedLabels } from '../../api/kinds/core/service/srv-names.ts';
import type { Zones } from '../records/zones.ts';
import type { ZoneController } from './zone-controller.ts';

/** 1 ms doubled up to 524 s: the buckets of Kubernetes' network programming latency. */
const buckets = Array.from({ length: 20 }, (_, power) => 0.001 * 2 ** power);

/** Registers the programming duration; returns its observer, for `ZoneControllerOptions.sliceServed`. */
export function programmingDuration(
  registry: Registry,
  now: () => number = Date.now,
): (slice: EndpointSlice, service: Service | undefined) => void {
  const durations = new Histogram({
    name: 'coredns_kubernetes_dns_programming_duration_seconds',
    help: 'Time from the change of a Service or Pod to its answers being served.',
    labelNames: ['service_kind'],
    buckets,
    registers: [registry],
  });
  return (slice, service) => {
    const changedAt = Date.parse(slice.metadata.annotations?.[triggerTimeAnnotation] ?? '');
    const kind = service && serviceKindOf(service);
    if (kind === undefined || Number.isNaN(changedAt)) return;
    // Clocks of machines differ: a change that seems to lie in the future counts as 0.
    durations.observe({ service_kind: kind }, Math.max(0, now() - changedAt) / 1000);
  };
}

function serviceKindOf(service: Service): string | undefined {
  const reach = reachOf(service);
  if (reach === 'vip') return 'cluster_ip';
  if (reach !== 'headless') return undefined;
  return service.spec.selector === undefined ? 'headless_without_selector' : 'headless_with_selector';
}

/** Registers the metrics of the watches, of the size of the zones, and of the use of `srvServiceName` (SRV-12). */
export function zoneMetrics(registry: Registry, controller: ZoneController, zones: Zones): void {
  collectedGauge(
    registry,
    'fairlead_dns_watch_age_seconds',
    'Time since the API server last sent anything on the watch of a resource, bookmarks included.',
    () => controller.silence().map(({ plural, silentMs }) => [{ resource: plural }, silentMs / 1000] as const),
  );
  collectedGauge(registry, 'fairlead_dns_names', 'Names that exist in the zones.', () => zones.size);
  collectedGauge(
    registry,
    'fairlead_dns_srv_service_name_ports',
    'Ports of Services whose SRV records are named by srvServiceName or its annotation.',
    () => Object.entries(srvNamesInUse(controller.caches.services.list())).map(([by, ports]) => [{ by }, ports]),
  );
}

/** Counts the ports with an SRV name of their own, by where it is set. */
function srvNamesInUse(services: readonly Service[]): { readonly field: number; readonly annotation: number } {
  let field = 0;
  let annotation = 0;
  for (const { metadata, spec } of services) {
    const annotated = metadata.annotations === undefined ? undefined : annotatedLabels(metadata.annotations);
    for (const { name = '', srvServiceName } of spec.ports ?? []) {
      if (srvServiceName) field++;
      else if (annotated?.has(name) === true) annotation++;
    }
  }
  return { field, annotation };
}
