import type { Registry } from 'prom-client';
import { Counter, Histogram } from 'prom-client';

/** Metrics of the service controller, named as in Kubernetes. */
export interface ServiceControllerMetrics {
  readonly syncs: Counter;
  readonly nodeErrors: Counter;
  readonly nodeSeconds: Histogram;
  readonly hostSeconds: Histogram;
}

/** Registers the metrics. */
export function serviceControllerMetrics(registry: Registry): ServiceControllerMetrics {
  const registers = [registry];
  const prefix = 'service_controller';
  // 2^0 … 2^14 seconds.
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
