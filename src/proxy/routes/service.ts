// The routes of one Service.
import { isExternalName, isHeadless, protocolOf } from '../../api/kinds/core/service/facts.ts';
import type { IpFamily } from '../../api/addresses.ts';
import { canonicalAddress, familyOf } from '../../api/addresses.ts';
import type { LoadBalancerIngress, Protocol, Service, ServicePort } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { keyOf } from '../../client/key.ts';
import type { PolicyActions } from './actions.ts';
import { actionsFor, servingOf, stickySeconds } from './actions.ts';
import { candidatesIn } from './candidates.ts';
import { healthyAmong } from './health.ts';
import type { RouteOptions, ThisNode } from './options.ts';
import { withProxyProtocol } from './proxy-protocol.ts';
import type { Route } from './route.ts';
import type { Selection } from './selection.ts';
import { select } from './selection.ts';
import { sourceRanges, withOwnAddress } from './source-ranges.ts';

/** On a Service: the name of the proxy that serves it instead of this one. */
const proxyNameLabel = 'service.kubernetes.io/service-proxy-name';

/** What the routes of a Service depend on; slices of other Services must not be among them. */
export interface ServiceInput {
  readonly service: Service;
  readonly slices: readonly EndpointSlice[];
  readonly node: ThisNode;
  readonly options: RouteOptions;
}

/** The owner name of a Service in the routing table. */
export const serviceOwner = (key: string): string => `Service ${key}`;

/** The key of the Service with an owner name; empty for other owners. */
export const keyOfOwner = (owner: string): string => (owner.startsWith('Service ') ? owner.slice(8) : '');

/** Why a Service has no routes at all; undefined if it may have some. */
export function whyUnrouted(service: Service): string | undefined {
  const { metadata, spec } = service;
  if (isExternalName(service)) return 'it is an alias of another name';
  if (isHeadless(service)) return 'it is headless: clients connect to its endpoints';
  if (metadata.labels?.[proxyNameLabel]) return `the proxy "${metadata.labels[proxyNameLabel]}" serves it`;
  return clusterAddresses(spec).length === 0 ? 'it has no address yet' : undefined;
}

/** The routes of a Service. */
export function serviceRoutes(input: ServiceInput): readonly Route[] {
  const { service } = input;
  if (whyUnrouted(service) !== undefined) return [];
  const families = new Set(clusterAddresses(service.spec).flatMap((address) => familyOf(address) ?? []));
  const routes = [...families].flatMap((family) =>
    (service.spec.ports ?? []).flatMap((port) => portRoutes(port, family, input)),
  );
  return withProxyProtocol(routes, service, input.options);
}

/** Selects the endpoints of one port. */
export function selectForPort(
  port: ServicePort,
  family: IpFamily,
  { slices, node }: Pick<ServiceInput, 'slices' | 'node'>,
): Selection {
  const wanted = { family, portName: port.name ?? '', protocol: protocolOf(port) };
  return select(candidatesIn(slices, wanted), { node, useHints: true });
}

/** The cluster IPs of a Service, canonical. */
export function clusterAddresses({ clusterIPs, clusterIP }: Service['spec']): readonly string[] {
  const all = clusterIPs?.length ? clusterIPs : clusterIP ? [clusterIP] : [];
  return all.flatMap((address) => canonicalAddress(address) ?? []);
}

/** What all routes of one port and family have in common. */
interface PortContext extends ServiceInput {
  readonly port: ServicePort;
  readonly selection: Selection;
  readonly base: Pick<Route, 'owner' | 'portName' | 'family' | 'protocol' | 'port' | 'serving'>;
  readonly actions: PolicyActions;
}

function portRoutes(port: ServicePort, family: IpFamily, input: ServiceInput): readonly Route[] {
  const selection = selectForPort(port, family, input);
  const protocol = protocolOf(port);
  const base = {
    owner: serviceOwner(keyOf(input.service)),
    portName: port.name ?? '',
    family,
    protocol,
    port: port.port,
    ...servingIf(protocol, selection),
  };
  const context = { ...input, port, selection, base, actions: actionsOf(selection, input) };
  return [
    ...clusterIpRoutes(context),
    ...externalIpRoutes(context),
    ...loadBalancerRoutes(context),
    ...nodePortRoutes(context),
  ];
}

function actionsOf(selection: Selection, { service, node }: ServiceInput): PolicyActions {
  const sticky = stickySeconds(service.spec);
  return actionsFor(selection, node, () => sticky);
}

const servingIf = (protocol: Protocol, selection: Selection): Pick<Route, 'serving'> =>
  protocol === 'UDP' ? { serving: servingOf(selection) } : {};

/** The addresses of a family, canonical. */
const ofFamily = (addresses: readonly string[], family: IpFamily): readonly string[] =>
  addresses.flatMap((text) => canonicalAddress(text) ?? []).filter((address) => familyOf(address) === family);

function clusterIpRoutes({ service: { spec }, base, actions }: PortContext): readonly Route[] {
  const action = actions[spec.internalTrafficPolicy ?? 'Cluster'];
  return ofFamily(clusterAddresses(spec), base.family).map((address) => ({
    ...base,
    kind: 'clusterIP',
    address,
    action,
    masquerade: 'outsiders',
  }));
}

function externalIpRoutes({ service: { spec }, base, actions }: PortContext): readonly Route[] {
  const outside = external(spec, actions);
  return ofFamily(spec.externalIPs ?? [], base.family).map((address) => ({
    ...base,
    ...outside,
    kind: 'externalIP',
    address,
  }));
}

function loadBalancerRoutes(context: PortContext): readonly Route[] {
  const { service, node, options, base } = context;
  const { family, port, protocol } = base;
  const ranges = sourceRanges(service.spec.loadBalancerSourceRanges, family);
  return ingresses(service, family).map(({ ingress, address }) => {
    const frontend = { ...base, kind: 'loadBalancer', address } as const;
    // A route that drops, because without a route a connection could reach a program on the node.
    if (options.lbPortGate === 'status' && !isOpen(ingress, port, protocol)) {
      return { ...frontend, action: { type: 'drop' }, masquerade: 'never' };
    }
    const sources = withOwnAddress(ranges, address, node.nodePortAddresses);
    return { ...frontend, ...balanced(context), ...(sources === undefined ? {} : { sources }) };
  });
}

/** The rules for traffic of a load balancer: as for other external traffic, without endpoints whose health check fails. */
function balanced(context: PortContext): External & Pick<Route, 'serving'> {
  const { service, node, selection, base, actions } = context;
  const healthy = healthyAmong(selection.candidates, service, base.protocol);
  if (healthy === selection.candidates) return external(service.spec, actions);
  const among = select(healthy, { node, useHints: true });
  return { ...external(service.spec, actionsOf(among, context)), ...servingIf(base.protocol, among) };
}

function nodePortRoutes({ service: { spec }, node, port, base, actions }: PortContext): readonly Route[] {
  const { nodePort } = port;
  if (!hasNodePorts(spec) || !nodePort) return [];
  const outside = external(spec, actions);
  return ofFamily(node.nodePortAddresses, base.family).map((address) => ({
    ...base,
    ...outside,
    kind: 'nodePort',
    address,
    port: nodePort,
  }));
}

const hasNodePorts = ({ type }: Service['spec']): boolean => type === 'NodePort' || type === 'LoadBalancer';

type External = Pick<Route, 'action' | 'masquerade' | 'near'>;

/**
 * The rules for external traffic. Under policy Local, clients on this node are served as under Cluster: no load balancer could
 * send them to another node.
 */
function external({ externalTrafficPolicy = 'Cluster' }: Service['spec'], actions: PolicyActions): External {
  if (externalTrafficPolicy === 'Cluster') return { action: actions.Cluster, masquerade: 'always' };
  return { action: actions.Local, masquerade: 'never', near: { action: actions.Cluster, masquerade: 'outsiders' } };
}

/** The addresses whose traffic arrives with an unchanged destination; with ipMode Proxy it arrives at node ports. */
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

/**
 * Whether a load balancer has opened a port at one of its addresses, by the current fields of the status or those that KEP-1435
 * first proposed. If a list lacks the port, it is not open; without a list it counts as open.
 */
function isOpen(ingress: LoadBalancerIngress, port: number, protocol: Protocol): boolean {
  const { ports = [], portStatuses = [] } = ingress;
  const isSame = (status: { readonly port: number; readonly protocol: Protocol }): boolean =>
    status.port === port && status.protocol === protocol;
  const current = ports.find(isSame);
  const seed = portStatuses.find(isSame);
  if (ports.length > 0 && (current === undefined || current.error !== undefined)) return false;
  return portStatuses.length === 0 || (seed?.ready ?? false);
}
