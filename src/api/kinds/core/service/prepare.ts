import type { WriteContext } from '../../../kind.ts';
import type { Service, ServicePort, ServiceSpec } from './schema.ts';
import { hasSrvName, isExternallyAccessible, isExternalName, withoutSrvName } from './facts.ts';
import { mayUseNodePorts, needsHealthCheck, sameList } from './normalize.ts';

/**
 * Clears fields that only the old type uses, unless the client changed them in the same write: then validation rejects
 * them. Other fields, such as loadBalancerSourceRanges, are kept.
 */
export function wipeTypeDependentFields(service: Service, old: Service): Service {
  const spec: { -readonly [Key in keyof ServiceSpec]: ServiceSpec[Key] } = { ...service.spec };
  const before = old.spec;
  if (!isExternalName(old) && isExternalName(service)) {
    if (sameAddresses(spec, before)) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    if (sameList(spec.ipFamilies ?? [], before.ipFamilies ?? [])) delete spec.ipFamilies;
    if (spec.ipFamilyPolicy === before.ipFamilyPolicy) delete spec.ipFamilyPolicy;
  }
  if (mayUseNodePorts(old) && !mayUseNodePorts(service) && spec.ports !== undefined && addsNoNodePort(spec, before)) {
    spec.ports = spec.ports.map(withoutNodePort);
  }
  if (needsHealthCheck(old) && !needsHealthCheck(service) && spec.healthCheckNodePort === before.healthCheckNodePort) {
    delete spec.healthCheckNodePort;
  }
  if (before.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    if (spec.allocateLoadBalancerNodePorts === before.allocateLoadBalancerNodePorts) {
      delete spec.allocateLoadBalancerNodePorts;
    }
    if (spec.loadBalancerClass === before.loadBalancerClass) delete spec.loadBalancerClass;
  }
  if (isExternallyAccessible(old) && !isExternallyAccessible(service)) {
    if (spec.externalTrafficPolicy === before.externalTrafficPolicy) delete spec.externalTrafficPolicy;
  }
  const keepsLoadBalancer = spec.type === 'LoadBalancer' || service.status.loadBalancer.ingress === undefined;
  return { ...service, spec, status: keepsLoadBalancer ? service.status : { ...service.status, loadBalancer: {} } };
}

const trafficPolicies = ['Cluster', 'Local'];

/** Drops the internal traffic policy of ExternalName Services, as Kubernetes does. Invalid values are left to validation. */
export function withoutUnusedPolicy(service: Service): Service {
  const { internalTrafficPolicy, ...spec } = service.spec;
  const isUnused = spec.type === 'ExternalName' && trafficPolicies.includes(internalTrafficPolicy ?? '');
  return isUnused ? { ...service, spec } : service;
}

function withoutNodePort(port: ServicePort): ServicePort {
  const { nodePort: _, ...rest } = port;
  return rest;
}

const sameAddresses = (spec: ServiceSpec, before: ServiceSpec): boolean =>
  (spec.clusterIP ?? '') === (before.clusterIP ?? '') && sameList(spec.clusterIPs ?? [], before.clusterIPs ?? []);

function addsNoNodePort({ ports = [] }: ServiceSpec, { ports: oldPorts = [] }: ServiceSpec): boolean {
  const had = new Set(oldPorts.map(({ nodePort }) => nodePort ?? 0));
  return ports.every(({ nodePort = 0 }) => nodePort === 0 || had.has(nodePort));
}

/** Drops fields whose gate is disabled and that the stored Service does not use. Reads never drop fields. */
export function dropGatedFields(service: Service, old: Service | undefined, { gates }: WriteContext): Service {
  const { ports } = service.spec;
  if (ports === undefined || gates.enabled('SRVServiceName')) return service;
  if (old?.spec.ports?.some(hasSrvName) || !ports.some(hasSrvName)) return service;
  return { ...service, spec: { ...service.spec, ports: ports.map(withoutSrvName) } };
}
