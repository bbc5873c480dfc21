import type { Registry } from 'prom-client';
import { Counter, Histogram } from 'prom-client';

/** What the service controller counts. Names are those of upstream's. */
export interface ServiceControllerMetrics {
  readonly syncs: Counter;
  readonly nodeErrors: Counter;
  readonly nodeSeconds: Histogram;
  readonly hostSeconds: Histogram;
}

/** The metrics of the service controller in one registry. */
export function serviceControllerMetrics(registry: Registry): ServiceControllerMetrics {
  const registers = [registry];
  const prefix = 'service_controller';
  // A second, doubled fourteen times.
  const buckets = Array.from({ length: 15 }, (_, index) => 2 ** index);
  return {
    syncs: new Counter({
      name: `${prefix}_loadbalancer_sync_total`,
      help: 'A metric counting the amount of times any load balancer has been configured',
      registers,
    }),
    nodeErrors: new Counter({
      name: `${prefix}_nodesync_error_total`,
      help: 'A metric counting the amount of times any load balancer has been configured and errored, as an effect of a node change on the cluster',
      registers,
    }),
    nodeSeconds: new Histogram({
      name: `${prefix}_nodesync_latency_seconds`,
      help: 'A metric measuring the latency for nodesync which updates loadbalancer hosts on cluster node updates',
      buckets,
      registers,
    }),
    hostSeconds: new Histogram({
      name: `${prefix}_update_loadbalancer_host_latency_seconds`,
      help: 'A metric measuring the latency for updating each load balancer hosts',
      buckets,
      registers,
    }),
  };
}
