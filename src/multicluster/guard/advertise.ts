// The addresses by which other clusters reach the exports of a cluster whose Pods they cannot route to.
import { canonicalAddress, familyOf } from '../../api/addresses.ts';
import type { Place } from '../../api/kinds/multicluster/gateway.ts';
import type { AddressMode } from '../../api/kinds/multicluster/labels.ts';
import { loadBalancerExposure } from '../../api/kinds/core/service/exposure.ts';
import { isHeadless, protocolOf } from '../../api/kinds/core/service/facts.ts';
import type { Service, ServicePort } from '../../api/kinds/core/service/schema.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { compareText } from '../../api/order.ts';
import type { Advertised, ClusterExport } from '../record.ts';
import { textOf } from '../record.ts';

/** A node that forwards node ports. */
export interface NodeAddresses {
  readonly name: string;
  readonly addresses: readonly string[];
  readonly isReady: boolean;
}

/** How other clusters reach the exports of a member. */
export interface Advertisement {
  readonly mode: Exclude<AddressMode, 'pods'>;
  /** Used in place of the addresses of load balancers or nodes. */
  readonly addresses?: readonly string[] | undefined;
  readonly nodes: readonly NodeAddresses[];
  /** In mode gateway: where gateways of other clusters connect. */
  readonly gateways?: readonly Place[] | undefined;
}

/** A slice should not have more endpoints; more nodes do not make a service better reachable. */
const mostAddresses = 100;

/** The external addresses of a node, or the internal ones if it has none. */
export function addressesOfNode({ metadata: { name = '' }, status }: Node): NodeAddresses {
  const { addresses = [], conditions = [] } = status ?? {};
  const ofType = (type: string): readonly string[] =>
    addresses.flatMap((each) => (each.type === type ? (canonicalAddress(each.address) ?? []) : []));
  const external = ofType('ExternalIP');
  return {
    name,
    addresses: external.length > 0 ? external : ofType('InternalIP'),
    isReady: conditions.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
  };
}

/** The slices that other clusters import in place of those of the Service: addresses that lead to it, with the ports there. */
export function advertisedOf(record: ClusterExport, advertisement: Advertisement): Advertised {
  const { mode } = advertisement;
  const { service } = record;
  const none = (problem?: string): Advertised => ({ mode, slices: [], problem });
  if (service === undefined) return none();
  const problem = (what: string, fix: string): Advertised =>
    none(
      `Service ${textOf(record)} ${what}, by which other clusters reach Services of cluster ${record.cluster} ` +
        `(address mode ${mode}): ${fix}`,
    );
  const kindOf = { loadbalancer: 'load balancer address', nodeport: 'node port', gateway: 'port of a gateway' }[mode];
  if (isHeadless(service))
    return problem(`is headless and has no ${kindOf}`, 'give it a cluster IP, or use the address mode pods');
  const { type = 'ClusterIP' } = service.spec;
  if (mode === 'gateway') {
    const { gateways = [] } = advertisement;
    if (gateways.length === 0)
      return problem('has no gateway', `run \`fairlead gateway\` in cluster ${record.cluster}`);
    const addresses = gateways.map(({ host }) => host);
    return { mode, gateways, slices: slicesOf(record, service, { addresses, portOf: ({ port }) => port }) };
  }
  if (mode === 'loadbalancer') {
    const { addresses, hostnames } = loadBalancerExposure(service);
    const used = advertisement.addresses ?? addresses;
    if (used.length > 0)
      return { mode, slices: slicesOf(record, service, { addresses: used, portOf: ({ port }) => port }) };
    if (hostnames.length > 0)
      return problem(
        `has a load balancer with the name ${hostnames[0] ?? ''} and no address`,
        'set spec.addresses of the ClusterMember',
      );
    return type === 'LoadBalancer'
      ? problem('has no load balancer address yet', 'see the Events of the Service')
      : problem(`is of type ${type} and has no load balancer address`, 'change its type to LoadBalancer');
  }
  const ports = service.spec.ports ?? [];
  if (!ports.some(({ nodePort }) => isNumber(nodePort)))
    return problem(`is of type ${type} and has no node port`, 'change its type to NodePort');
  const used = advertisement.addresses ?? nodeAddresses(record, service, advertisement.nodes);
  if (used.length === 0)
    return problem(
      'has no ready node with an address',
      'check the nodes, the right of the controller to list them, and externalTrafficPolicy',
    );
  return { mode, slices: slicesOf(record, service, { addresses: used, portOf: ({ nodePort }) => nodePort }) };
}

const isNumber = (port: number | undefined): port is number => port !== undefined && port > 0;

/** With externalTrafficPolicy Local, only nodes with a ready endpoint forward. */
function nodeAddresses(
  { slices }: ClusterExport,
  service: Service,
  nodes: readonly NodeAddresses[],
): readonly string[] {
  const isLocal = service.spec.externalTrafficPolicy === 'Local';
  const local = new Set(
    slices.flatMap(({ endpoints }) => (endpoints ?? []).filter(isReady).map(({ nodeName }) => nodeName)),
  );
  return nodes
    .filter((node) => node.isReady && (!isLocal || local.has(node.name)))
    .toSorted((left, right) => compareText(left.name, right.name))
    .flatMap(({ addresses }) => addresses);
}

/** One slice for each address family. Its endpoints are ready if any endpoint of the Service is. */
function slicesOf(
  { namespace, name, slices }: ClusterExport,
  service: Service,
  {
    addresses,
    portOf,
  }: { readonly addresses: readonly string[]; readonly portOf: (port: ServicePort) => number | undefined },
): readonly EndpointSlice[] {
  const isAnyReady =
    service.spec.publishNotReadyAddresses === true || slices.some(({ endpoints }) => (endpoints ?? []).some(isReady));
  const conditions = { ready: isAnyReady, serving: isAnyReady, terminating: false };
  const ports = (service.spec.ports ?? []).flatMap((each) => {
    const port = portOf(each);
    const { name: portName = '', appProtocol, srvServiceName } = each;
    if (!isNumber(port)) return [];
    return [
      {
        name: portName,
        protocol: protocolOf(each),
        port,
        ...(appProtocol === undefined ? {} : { appProtocol }),
        ...(srvServiceName === undefined ? {} : { srvServiceName }),
      },
    ];
  });
  return (['IPv4', 'IPv6'] as const).flatMap((family): readonly EndpointSlice[] => {
    const own = [...new Set(addresses.filter((address) => familyOf(address) === family))].slice(0, mostAddresses);
    if (own.length === 0) return [];
    return [
      {
        metadata: { namespace, name: `${name}-${family.toLowerCase()}` },
        addressType: family,
        endpoints: own.map((address) => ({ addresses: [address], conditions })),
        ports,
      },
    ];
  });
}
