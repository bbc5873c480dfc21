// The routes of one Service.
import type { IpFamily } from '../../api/addresses.ts';
import { canonicalAddress, familyOf } from '../../api/addresses.ts';
import type { LoadBalancerIngress, Service, ServicePort } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { keyOf } from '../../client/key.ts';
import type { PolicyActions, TrafficPolicy } from './actions.ts';
import { actionsFor, servingOf, stickySeconds } from './actions.ts';
import { candidatesIn } from './candidates.ts';
import { healthyAmong } from './health.ts';
import type { RouteOptions, ThisNode } from './options.ts';
import { isOpen } from './port-gate.ts';
import type { Route } from './route.ts';
import type { Selection } from './selection.ts';
import { isLocal, select } from './selection.ts';
import { sourceRanges, withOwnAddress } from './source-ranges.ts';

/** On a Service: the proxy that serves it, if it is not this one. */
const proxyNameLabel = 'service.kubernetes.io/service-proxy-name';

/** What the routes of a Service depend on; slices of other Services must not be among them. */
export interface ServiceInput {
  readonly service: Service;
  readonly slices: readonly EndpointSlice[];
  readonly node: ThisNode;
  readonly options: RouteOptions;
}

/** How the table calls a Service. */
export const serviceOwner = (key: string): string => `Service ${key}`;

/** The key of the Service that an owner is; empty if it is none. */
export const keyOfOwner = (owner: string): string => (owner.startsWith('Service ') ? owner.slice(8) : '');

/** Why a Service has no routes at all; undefined if it may have some. */
export function whyUnrouted({ metadata, spec }: Service): string | undefined {
  if (spec.type === 'ExternalName') return 'it is an alias of another name';
  if (spec.clusterIP === 'None') return 'it is headless: clients connect to its endpoints';
  if (metadata.labels?.[proxyNameLabel]) return `the proxy "${metadata.labels[proxyNameLabel]}" serves it`;
  return clusterAddresses(spec).length === 0 ? 'it has no address yet' : undefined;
}

/** The routes of a Service. */
export function serviceRoutes(input: ServiceInput): readonly Route[] {
  const { service } = input;
  if (whyUnrouted(service) !== undefined) return [];
  const families = new Set(clusterAddresses(service.spec).flatMap((address) => familyOf(address) ?? []));
  return [...families].flatMap((family) =>
    (service.spec.ports ?? []).flatMap((port) => portRoutes(port, family, input)),
  );
}

/** The endpoints of one port, chosen. */
export function selectForPort(
  port: ServicePort,
  family: IpFamily,
  { slices, node }: Pick<ServiceInput, 'slices' | 'node'>,
): Selection {
  const wanted = { family, portName: port.name ?? '', protocol: port.protocol ?? 'TCP' };
  return select(candidatesIn(slices, wanted), { node, useHints: true });
}

/** The cluster IPs of a Service, canonical. */
export function clusterAddresses({ clusterIPs, clusterIP }: Service['spec']): readonly string[] {
  const all = clusterIPs?.length ? clusterIPs : clusterIP ? [clusterIP] : [];
  return all.flatMap((address) => canonicalAddress(address) ?? []);
}

function portRoutes(port: ServicePort, family: IpFamily, input: ServiceInput): readonly Route[] {
  const { service, node, options } = input;
  const { spec } = service;
  const selection = selectForPort(port, family, input);
  const sticky = stickySeconds(spec);
  const actions = actionsFor(selection, node, () => sticky);
  const protocol = port.protocol ?? 'TCP';
  const base = {
    owner: serviceOwner(keyOf(service)),
    portName: port.name ?? '',
    family,
    protocol,
    port: port.port,
    ...(protocol === 'UDP' ? { serving: servingOf(selection) } : {}),
  };
  const outside = external(spec.externalTrafficPolicy ?? 'Cluster', actions);
  const own = (addresses: readonly string[]): readonly string[] =>
    addresses.flatMap((text) => canonicalAddress(text) ?? []).filter((address) => familyOf(address) === family);
  const internal = {
    ...base,
    kind: 'clusterIP',
    action: actions[spec.internalTrafficPolicy ?? 'Cluster'],
    masquerade: 'outsiders',
  } as const;
  const balanced = (): Pick<Route, 'action' | 'masquerade' | 'near' | 'serving'> => {
    const healthy = healthyAmong(selection.candidates, service, protocol);
    if (healthy === selection.candidates) return outside;
    const among = select(healthy, { node, useHints: true });
    const served = external(
      spec.externalTrafficPolicy ?? 'Cluster',
      actionsFor(among, node, () => sticky),
    );
    return protocol === 'UDP' ? { ...served, serving: servingOf(among) } : served;
  };
  const nodePorts = hasNodePorts(spec) && port.nodePort ? own(node.nodePortAddresses) : [];
  return [
    ...own(clusterAddresses(spec)).map((address) => ({ ...internal, address })),
    ...own(spec.externalIPs ?? []).map((address) => ({ ...base, ...outside, kind: 'externalIP' as const, address })),
    ...ingresses(service, family).map(({ ingress, address }): Route => {
      const frontend = { ...base, kind: 'loadBalancer' as const, address };
      // Silent, not absent: where the address is the node's own, an absent port would reach what listens on the node.
      if (options.lbPortGate === 'status' && !isOpen(ingress, port.port, protocol)) {
        return { ...frontend, action: { type: 'drop' }, masquerade: 'never' };
      }
      const ranges = sourceRanges(spec.loadBalancerSourceRanges, family);
      const sources = withOwnAddress(ranges, address, node.nodePortAddresses);
      return { ...frontend, ...balanced(), ...(sources === undefined ? {} : { sources }) };
    }),
    ...nodePorts.map((address) => ({
      ...base,
      ...outside,
      kind: 'nodePort' as const,
      address,
      port: port.nodePort ?? 0,
    })),
  ];
}

const hasNodePorts = ({ type }: Service['spec']): boolean => type === 'NodePort' || type === 'LoadBalancer';

/**
 * What holds for traffic from outside. Under Local, clients on this node are served as under Cluster: they are not sent
 * away to a node that has endpoints, since they are not coming from a load balancer that could.
 */
function external(policy: TrafficPolicy, actions: PolicyActions): Pick<Route, 'action' | 'masquerade' | 'near'> {
  if (policy === 'Cluster') return { action: actions.Cluster, masquerade: 'always' };
  return { action: actions.Local, masquerade: 'never', near: { action: actions.Cluster, masquerade: 'outsiders' } };
}

/** The addresses at which a load balancer passes traffic on unchanged; of others it arrives at node ports. */
function ingresses(
  { spec, status }: Service,
  family: IpFamily,
): readonly { readonly ingress: LoadBalancerIngress; readonly address: string }[] {
  if (spec.type !== 'LoadBalancer') return [];
  return (status?.loadBalancer?.ingress ?? []).flatMap((ingress) => {
    const address = canonicalAddress(ingress.ip ?? '');
    if (address === undefined || familyOf(address) !== family || ingress.ipMode === 'Proxy') return [];
    return [{ ingress, address }];
  });
}

/** What a load balancer asks at a node port: how many ready endpoints are on this node. */
export interface HealthCheck {
  readonly owner: string;
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly localEndpoints: number;
}

/** The health check of a Service; undefined if it has none. Endpoints that terminate do not count: that is its point. */
export function healthCheckOf({ service, slices, node }: Omit<ServiceInput, 'options'>): HealthCheck | undefined {
  const { spec, metadata } = service;
  if (spec.type !== 'LoadBalancer' || spec.externalTrafficPolicy !== 'Local' || !spec.healthCheckNodePort) {
    return undefined;
  }
  const here = new Set<string>();
  for (const address of clusterAddresses(spec)) {
    for (const port of spec.ports ?? []) {
      const { candidates } = selectForPort(port, familyOf(address) ?? 'IPv4', { slices, node });
      for (const each of candidates) if (each.ready && isLocal(each, node)) here.add(each.address);
    }
  }
  return {
    owner: serviceOwner(keyOf(service)),
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    port: spec.healthCheckNodePort,
    localEndpoints: here.size,
  };
}
