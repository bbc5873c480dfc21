// Which Services need a load balancer, and which changes of a Service matter to one: as upstream's controller decides.
import type { Service, ServicePort, ServiceSpec } from '../../api/kinds/core/service/schema.ts';
import { unhealthyAnnotation } from '../../api/kinds/core/service/facts.ts';

/** Keeps a Service until its load balancer is gone. */
export const cleanupFinalizer = 'service.kubernetes.io/load-balancer-cleanup';

/** Whether a Service asks for a load balancer of ours: those of other classes are somebody else's entirely. */
export function wantsLoadBalancer({ spec }: Service, classes: readonly string[]): boolean {
  if (spec.type !== 'LoadBalancer') return false;
  return spec.loadBalancerClass === undefined || classes.includes(spec.loadBalancerClass);
}

export const hasFinalizer = ({ metadata }: Service): boolean =>
  metadata.finalizers?.includes(cleanupFinalizer) === true;

/** Whether the load balancer of a Service is to go. A class of somebody else never had one of ours. */
export function needsCleanup(service: Service, classes: readonly string[]): boolean {
  if (!hasFinalizer(service)) return false;
  const { loadBalancerClass } = service.spec;
  if (loadBalancerClass !== undefined && !classes.includes(loadBalancerClass)) return false;
  return service.metadata.deletionTimestamp !== undefined || service.spec.type !== 'LoadBalancer';
}

/** Whether a change of a Service can change its load balancer. Labels, selector, status and inner policies cannot. */
export function needsUpdate(old: Service, next: Service, classes: readonly string[]): boolean {
  const wanted = wantsLoadBalancer(next, classes);
  if (wanted !== wantsLoadBalancer(old, classes)) return true;
  if (!wanted) return false;
  return JSON.stringify(relevant(old)) !== JSON.stringify(relevant(next));
}

function relevant({ metadata, spec }: Service): unknown {
  return [
    metadata.uid,
    Object.entries(metadata.annotations ?? {})
      .filter(([name]) => name !== unhealthyAnnotation) // which load balancers write themselves
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
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

/** The order of ports matters, and so does everything a load balancer can be told about one. */
const relevantPort = ({ name, protocol, port, nodePort, targetPort, appProtocol }: ServicePort): unknown => [
  name ?? '',
  protocol ?? 'TCP',
  port,
  nodePort ?? 0,
  targetPort ?? '',
  appProtocol ?? '',
];
