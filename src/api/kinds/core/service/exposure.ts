// Where clients outside the cluster reach a Service of type LoadBalancer.
import { canonicalAddress } from '../../../addresses.ts';
import { protocolOf } from './facts.ts';
import type { LoadBalancerIngress, Protocol, Service, ServicePort } from './schema.ts';
import { annotatedLabels } from './srv-names.ts';

/** A port that clients reach at all addresses. */
export interface ExposedPort {
  /** The service label of its SRV records: `srvServiceName`, or the name of the port; '' for none. */
  readonly label: string;
  readonly protocol: Protocol;
  readonly port: number;
}

/** Where clients reach a Service. */
export interface Exposure {
  /** Canonical addresses. */
  readonly addresses: readonly string[];
  /** Names of load balancers that have no fixed address. */
  readonly hostnames: readonly string[];
  readonly ports: readonly ExposedPort[];
}

/** The addresses of the load balancer of a Service, and the ports that it serves; `spec.externalIPs` replace them. */
export function loadBalancerExposure(service: Service): Exposure {
  const { externalIPs = [], ports = [] } = service.spec;
  const ingress = service.status?.loadBalancer?.ingress ?? [];
  const reachable = ingress.filter(({ ip, hostname }) => Boolean(ip) || Boolean(hostname));
  const addresses = externalIPs.length > 0 ? externalIPs : ingress.flatMap(({ ip }) => (ip ? [ip] : []));
  const served = ports.filter((port) => reachable.length === 0 || reachable.some((each) => serves(each, port)));
  return {
    addresses: addresses.flatMap((address) => canonicalAddress(address) ?? []),
    hostnames: externalIPs.length > 0 ? [] : ingress.flatMap(({ hostname }) => (hostname ? [hostname] : [])),
    ports: exposedPorts({ ...service, spec: { ...service.spec, ports: served } }, ({ port }) => port),
  };
}

/** The ports of a Service with the number that clients use; undefined: the port is not reachable. */
export function exposedPorts(
  { metadata, spec: { ports = [] } }: Service,
  numberOf: (port: ServicePort) => number | undefined,
): readonly ExposedPort[] {
  const annotated = annotatedLabels(metadata.annotations);
  return ports.flatMap((each) => {
    const port = numberOf(each);
    const label = each.srvServiceName || annotated.get(each.name ?? '') || (each.name ?? '');
    return port === undefined ? [] : [{ label, protocol: protocolOf(each), port }];
  });
}

/** Whether an ingress point reports no error for a port. One without port states serves all ports. */
function serves({ ports = [], portStatuses = [] }: LoadBalancerIngress, port: ServicePort): boolean {
  const isSame = (state: { readonly port: number; readonly protocol?: Protocol }): boolean =>
    state.port === port.port && protocolOf(state) === protocolOf(port);
  return (
    !ports.some((state) => isSame(state) && state.error !== undefined) &&
    !portStatuses.some((state) => isSame(state) && !state.ready)
  );
}
