import { isExternallyAccessible } from './facts.ts';
import type { LoadBalancerIngress, Service, ServicePort, ServiceSpec } from './schema.ts';

type Draft<T> = { -readonly [Key in keyof T]: T[Key] };

const defaultAffinitySeconds = 10_800;

/** Fills in what the author of a Service left out, in Kubernetes' order: later steps look at what earlier ones set. */
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

/** A copy with session affinity settled: settings without affinity are dropped, not refused. */
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

/** A port that is missing is copied as well: then both fields are reported. */
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
