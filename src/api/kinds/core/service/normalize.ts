// Completes Services before validation: fields that have two representations, and values that the server allocated
// earlier.
import { isExternalName } from './facts.ts';
import type { Service, ServicePort, ServiceSpec } from './schema.ts';

/**
 * Sets `clusterIPs` from `clusterIP`, the only field that old clients write. It never sets `clusterIP` from the list:
 * clients that write the list must write both. `old` is the stored Service of an update.
 */
export function normalizeClusterIPs(service: Service, old?: Service): Service {
  const { clusterIP = '', clusterIPs = [] } = service.spec;
  if (old === undefined) {
    return clusterIP !== '' && clusterIPs.length === 0 ? withClusterIPs(service, [clusterIP]) : service;
  }
  const { clusterIP: oldIP = '', clusterIPs: oldIPs = [] } = old.spec;
  if (clusterIP === oldIP) {
    return clusterIPs.length === 0 && oldIPs.length > 0 ? withClusterIPs(service, oldIPs) : service;
  }
  const listFollows = sameList(clusterIPs, oldIPs);
  if (clusterIP === '') return listFollows ? withClusterIPs(service, []) : service;
  // Kubernetes accepts an ExternalName Service with an address and no list. Here the list is set in that case as well, so
  // that validation rejects it.
  return listFollows || clusterIPs.length === 0 ? withClusterIPs(service, [clusterIP]) : service;
}

/**
 * Copies allocated values that are missing in the request from the stored Service, so that applying the original manifest
 * again changes nothing. Node ports are matched by port name.
 */
export function patchAllocatedValues(service: Service, old: Service): Service {
  const addresses = !isExternalName(service) && !isExternalName(old) ? missingAddresses(service.spec, old.spec) : {};
  const ports = getsNodePorts(service) && getsNodePorts(old) ? portsWithOldNodePorts(service, old) : undefined;
  const healthCheckNodePort =
    needsHealthCheck(service) && needsHealthCheck(old) && (service.spec.healthCheckNodePort ?? 0) === 0
      ? old.spec.healthCheckNodePort
      : undefined;
  return {
    ...service,
    spec: {
      ...service.spec,
      ...addresses,
      ...(ports === undefined ? {} : { ports }),
      ...(healthCheckNodePort === undefined ? {} : { healthCheckNodePort }),
    },
  };
}

/** Whether ports of the Service can have node ports. */
export const mayUseNodePorts = ({ spec }: Service): boolean => spec.type === 'NodePort' || spec.type === 'LoadBalancer';

/** Whether node ports are allocated for ports that do not request one. */
export const getsNodePorts = ({ spec }: Service): boolean =>
  spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && (spec.allocateLoadBalancerNodePorts ?? true));

/** Whether the Service needs a health check node port. */
export const needsHealthCheck = ({ spec }: Service): boolean =>
  spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';

/** Whether two lists are equal. */
export const sameList = (left: readonly string[], right: readonly string[]): boolean =>
  left.length === right.length && left.every((value, index) => value === right[index]);

function withClusterIPs(service: Service, clusterIPs: readonly string[]): Service {
  const { clusterIPs: _, ...rest } = service.spec;
  return { ...service, spec: clusterIPs.length === 0 ? rest : { ...rest, clusterIPs } };
}

function missingAddresses(spec: ServiceSpec, old: ServiceSpec): Pick<ServiceSpec, 'clusterIP' | 'clusterIPs'> {
  return {
    ...((spec.clusterIP ?? '') === '' && old.clusterIP !== undefined ? { clusterIP: old.clusterIP } : {}),
    ...((spec.clusterIPs ?? []).length === 0 && old.clusterIPs !== undefined ? { clusterIPs: old.clusterIPs } : {}),
  };
}

function portsWithOldNodePorts(service: Service, old: Service): readonly ServicePort[] | undefined {
  const { ports } = service.spec;
  if (ports === undefined || ports.every(({ nodePort = 0 }) => nodePort !== 0)) return ports;
  const claimed = new Set(ports.map(({ nodePort }) => nodePort));
  // Port name → node port. As in Kubernetes, the last of several unnamed ports is used.
  const byName = new Map(old.spec.ports?.map(({ name = '', nodePort = 0 }) => [name, nodePort]));
  return ports.map((port) => {
    const oldNodePort = byName.get(port.name ?? '') ?? 0;
    const keeps = (port.nodePort ?? 0) === 0 && oldNodePort !== 0 && !claimed.has(oldNodePort);
    return keeps ? { ...port, nodePort: oldNodePort } : port;
  });
}
