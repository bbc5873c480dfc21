// Fields of a Service that mean one thing twice, or that the server filled in: what a client left out or sent in only
// one of two places is completed before anything is checked.
import type { Service, ServicePort, ServiceSpec } from './schema.ts';

/**
 * Brings `clusterIPs` in step with `clusterIP`, the field that old clients know. The other way never happens: a client
 * that knows the list has to send both. `old` is the stored Service of an update.
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
  // Kubernetes lets an ExternalName Service keep an address that is sent without the list; here the list follows in
  // that case as well, so that validation refuses it.
  return listFollows || clusterIPs.length === 0 ? withClusterIPs(service, [clusterIP]) : service;
}

/**
 * Fills what the server once allocated and the client left out from the stored Service, so that sending the first
 * manifest again changes nothing. Node ports are found by the name of their port.
 */
export function patchAllocatedValues(service: Service, old: Service): Service {
  const addresses = usesClusterIP(service) && usesClusterIP(old) ? missingAddresses(service.spec, old.spec) : {};
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

/** Whether this Service has cluster IPs, or `None` in their place. */
export const usesClusterIP = ({ spec }: Service): boolean => spec.type !== 'ExternalName';

/** Whether ports of this Service may have node ports. */
export const mayUseNodePorts = ({ spec }: Service): boolean => spec.type === 'NodePort' || spec.type === 'LoadBalancer';

/** Whether ports of this Service that ask for no node port get one. */
export const getsNodePorts = ({ spec }: Service): boolean =>
  spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && (spec.allocateLoadBalancerNodePorts ?? true));

/** Whether a load balancer must learn from the nodes which of them have backends. */
export const needsHealthCheck = ({ spec }: Service): boolean =>
  spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';

/** Whether two lists hold the same values in the same order. */
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
  // port name → node port; of two ports without a name the last one counts, as in Kubernetes
  const byName = new Map(old.spec.ports?.map(({ name = '', nodePort = 0 }) => [name, nodePort]));
  return ports.map((port) => {
    const oldNodePort = byName.get(port.name ?? '') ?? 0;
    const keeps = (port.nodePort ?? 0) === 0 && oldNodePort !== 0 && !claimed.has(oldNodePort);
    return keeps ? { ...port, nodePort: oldNodePort } : port;
  });
}
