// The health check of a node that load balancers send.
import { familyOf } from '../../api/addresses.ts';
import { keyOf } from '../../client/key.ts';
import { isLocal } from './selection.ts';
import type { ServiceInput } from './service.ts';
import { clusterAddresses, selectForPort, serviceOwner } from './service.ts';

/** The health check of a Service at its node port: the number of ready endpoints on this node. */
export interface HealthCheck {
  readonly owner: string;
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly localEndpoints: number;
}

/** The health check of a Service; undefined if it has none. Terminating endpoints do not count, so that load balancers move on. */
export function healthCheckOf({ service, slices, node }: Omit<ServiceInput, 'options'>): HealthCheck | undefined {
  const { spec, metadata } = service;
  if (spec.type !== 'LoadBalancer' || spec.externalTrafficPolicy !== 'Local' || !spec.healthCheckNodePort) {
    return undefined;
  }
  const local = new Set<string>();
  for (const address of clusterAddresses(spec)) {
    for (const port of spec.ports ?? []) {
      const { candidates } = selectForPort(port, familyOf(address) ?? 'IPv4', { slices, node });
      for (const each of candidates) if (each.ready && isLocal(each, node)) local.add(each.address);
    }
  }
  return {
    owner: serviceOwner(keyOf(service)),
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    port: spec.healthCheckNodePort,
    localEndpoints: local.size,
  };
}
