// What a load balancer asks of a node before it sends anything there.
import { familyOf } from '../../api/addresses.ts';
import { keyOf } from '../../client/key.ts';
import { isLocal } from './selection.ts';
import type { ServiceInput } from './service.ts';
import { clusterAddresses, selectForPort, serviceOwner } from './service.ts';

/** What a load balancer asks at a node port: how many ready endpoints are on this node. */
export interface HealthCheck {
  readonly owner: string;
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly localEndpoints: number;
}

/** The health check of a Service; undefined if it has none. Endpoints that terminate do not count: that is its point. */
export function healthCheckOf({ service, slices, node }: Omit<ServiceInput, 'options'>): HealthCheck | undefined {
  const { spec, metadata } = service;
  if (spec.type !== 'LoadBalancer' || spec.externalTrafficPolicy !== 'Local' || !spec.healthCheckNodePort) {
    return undefined;
  }
  const here = new Set<string>();
  for (const address of clusterAddresses(spec)) {
    for (const port of spec.ports ?? []) {
      const { candidates } = selectForPort(port, familyOf(address) ?? 'IPv4', { slices, node });
      for (const each of candidates) if (each.ready && isLocal(each, node)) here.add(each.address);
    }
  }
  return {
    owner: serviceOwner(keyOf(service)),
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    port: spec.healthCheckNodePort,
    localEndpoints: here.size,
  };
}
