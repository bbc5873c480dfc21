import { isExternallyAccessible } from './facts.ts';
import { mayUseNodePorts, needsHealthCheck, sameList, usesClusterIP } from './linked.ts';
import type { Service, ServicePort, ServiceSpec } from './schema.ts';

/**
 * Clears what the old type needed and the new one does not, unless the client changed it in the same write: then
 * validation refuses it. What is not listed here stays, such as loadBalancerSourceRanges.
 */
export function wipeTypeDependentFields(service: Service, old: Service): Service {
  const spec: { -readonly [Key in keyof ServiceSpec]: ServiceSpec[Key] } = { ...service.spec };
  const before = old.spec;
  if (usesClusterIP(old) && !usesClusterIP(service)) {
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

/** An external name has no traffic to steer; Kubernetes never shows its policy. What is no policy, validation refuses. */
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
