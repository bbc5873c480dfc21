// Which Services need a load balancer, and which changes affect it, as in the service controller of Kubernetes.
import type { Service, ServicePort, ServiceSpec } from '../../api/kinds/core/service/schema.ts';
import { unhealthyAnnotation } from '../../api/kinds/core/service/facts.ts';
import { byKey } from '../../api/order.ts';

/** Blocks the deletion of a Service until its load balancer is deleted. */
export const cleanupFinalizer = 'service.kubernetes.io/load-balancer-cleanup';

/** Whether a Service needs a load balancer of one of these classes or of no class. */
export function needsLoadBalancer({ spec }: Service, classes: readonly string[]): boolean {
  if (spec.type !== 'LoadBalancer') return false;
  return spec.loadBalancerClass === undefined || classes.includes(spec.loadBalancerClass);
}

export const hasFinalizer = ({ metadata }: Service): boolean =>
  metadata.finalizers?.includes(cleanupFinalizer) === true;

/** Whether the load balancer of a Service must be deleted. Services of other classes never had one. */
export function needsCleanup(service: Service, classes: readonly string[]): boolean {
  if (!hasFinalizer(service)) return false;
  const { loadBalancerClass } = service.spec;
  if (loadBalancerClass !== undefined && !classes.includes(loadBalancerClass)) return false;
  return service.metadata.deletionTimestamp !== undefined || service.spec.type !== 'LoadBalancer';
}

/** Whether a change affects the load balancer. Labels, selector, status and internal policies do not. */
export function needsUpdate(old: Service, next: Service, classes: readonly string[]): boolean {
  const desired = needsLoadBalancer(next, classes);
  if (desired !== needsLoadBalancer(old, classes)) return true;
  if (!desired) return false;
  return JSON.stringify(relevant(old)) !== JSON.stringify(relevant(next));
}

function relevant({ metadata, spec }: Service): unknown {
  return [
    metadata.uid,
    Object.entries(metadata.annotations ?? {})
      .filter(([name]) => name !== unhealthyAnnotation) // written by the health checks
      .toSorted(byKey),
    (spec.ports ?? []).map(relevantPort),
    spec.loadBalancerSourceRanges ?? [],
    spec.externalIPs ?? [],
    ...plainFields.map((field) => spec[field] ?? ''),
    spec.ipFamilies?.length ?? 0,
  ];
}

const plainFields = [
  'sessionAffinity',
  'sessionAffinityConfig',
  'loadBalancerIP',
  'externalTrafficPolicy',
  'healthCheckNodePort',
] as const satisfies readonly (keyof ServiceSpec)[];

/** The fields of a port that affect the load balancer. The order of ports matters too. */
const relevantPort = ({ name, protocol, port, nodePort, targetPort, appProtocol }: ServicePort): unknown => [
  name ?? '',
  protocol ?? 'TCP',
  port,
  nodePort ?? 0,
  targetPort ?? '',
  appProtocol ?? '',
];
