import { isExternallyAccessible } from './facts.ts';
import type { LoadBalancerIngress, Service, ServicePort, ServiceSpec } from './schema.ts';

type Draft<T> = { -readonly [Key in keyof T]: T[Key] };

const defaultAffinitySeconds = 10_800;

/** Sets the defaults of a Service. The order is that of Kubernetes: later steps depend on earlier ones. */
export function applyDefaults(service: Service): Service {
  const spec = withAffinity(service.spec);
  spec.type ||= 'ClusterIP';
  if (spec.ports !== undefined) spec.ports = spec.ports.map(portWithDefaults);
  if (isExternallyAccessible({ spec })) spec.externalTrafficPolicy ||= 'Cluster';
  if (spec.type !== 'ExternalName') spec.internalTrafficPolicy ??= 'Cluster';
  if (spec.type !== 'LoadBalancer') return { ...service, spec };
  spec.allocateLoadBalancerNodePorts ??= true;
  return { ...service, spec, status: withAddressModes(service.status) };
}

/** Copies the spec with defaults of session affinity. Settings without affinity are dropped, not rejected. */
function withAffinity(given: ServiceSpec): Draft<ServiceSpec> {
  const spec: Draft<ServiceSpec> = { ...given };
  spec.sessionAffinity ||= 'None';
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === 'ClientIP') {
    const timeoutSeconds = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds;
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: timeoutSeconds ?? defaultAffinitySeconds } };
  }
  return spec;
}

/** A missing port is copied as well, so validation reports both fields. */
const portWithDefaults = (port: ServicePort): ServicePort =>
  port.protocol && port.targetPort
    ? port
    : { ...port, protocol: port.protocol || 'TCP', targetPort: port.targetPort || port.port };

function withAddressModes(status: Service['status']): Service['status'] {
  const { ingress } = status.loadBalancer;
  if (ingress === undefined || !ingress.some(lacksMode)) return status;
  const completed = ingress.map((entry) => (lacksMode(entry) ? { ...entry, ipMode: 'VIP' as const } : entry));
  return { ...status, loadBalancer: { ...status.loadBalancer, ingress: completed } };
}

const lacksMode = ({ ip, ipMode }: LoadBalancerIngress): boolean =>
  ip !== undefined && ip !== '' && ipMode === undefined;
