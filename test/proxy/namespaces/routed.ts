// A cluster of namespaces with rules in its node, and one Service that tests modify.
import type {
  LoadBalancerIngress,
  Protocol,
  Service,
  ServicePort,
  ServiceSpec,
} from '../../../src/api/kinds/core/service/schema.ts';
import type { Endpoint, EndpointSlice } from '../../../src/api/kinds/discovery/endpointslice/schema.ts';
import { NftablesBackend } from '../../../src/proxy/nftables/backend.ts';
import type { RouteOptions } from '../../../src/proxy/routes/options.ts';
import type { NodeNetwork } from '../../../src/proxy/routes/route.ts';
import { routesOf } from '../../../src/proxy/routes/routes.ts';
import { precedenceOf } from '../../../src/proxy/routes/precedence.ts';
import { RoutingTable } from '../../../src/proxy/routes/table.ts';
import type { Cluster } from './cluster.ts';
import { startCluster } from './cluster.ts';

export const network: NodeNetwork = {
  addresses: new Set([
    '192.0.2.1',
    '10.1.0.1',
    '10.1.1.1',
    '127.0.0.1',
    '2001:db8:2::1',
    '2001:db8:1::1',
    '2001:db8:3::1',
    '::1',
  ]),
  podRanges: ['10.1.0.0/24', '2001:db8:1::/64'],
  serviceRanges: ['10.96.0.0/16', '2001:db8:96::/112'],
  masqueradeAll: false,
};
export const node = { name: 'node', labels: {}, nodePortAddresses: ['192.0.2.1', '2001:db8:2::1'] };

export const pods = {
  podA: { nodeName: 'node', IPv4: '10.1.0.11', IPv6: '2001:db8:1::11' },
  podB: { nodeName: 'node', IPv4: '10.1.0.12', IPv6: '2001:db8:1::12' },
  far: { nodeName: 'other', IPv4: '10.1.1.11', IPv6: '2001:db8:3::11' },
} as const;
export type PodName = keyof typeof pods;

/** The addresses of each family: of the Service, of its load balancer, of the node outside and towards `far`, of a client. */
export const places = [
  {
    family: 'IPv4',
    vip: '10.96.0.10',
    balancer: '203.0.113.5',
    nodeAddress: '192.0.2.1',
    towardsFar: '10.1.1.1',
    outsider: '192.0.2.9',
  },
  {
    family: 'IPv6',
    vip: '2001:db8:96::10',
    balancer: '2001:db8:5::5',
    nodeAddress: '2001:db8:2::1',
    towardsFar: '2001:db8:3::1',
    outsider: '2001:db8:2::9',
  },
] as const;

/** Fields of slices besides their endpoints. */
export interface SliceSettings {
  readonly protocol?: Protocol;
  readonly portName?: string;
  readonly port?: number;
  readonly hints?: (name: PodName) => Endpoint['hints'];
}

/** Slices of both families with these Pods. */
export function slices(names: readonly PodName[], settings: SliceSettings = {}): readonly EndpointSlice[] {
  const { protocol = 'TCP', portName = '', port = 8080, hints = () => undefined } = settings;
  return (['IPv4', 'IPv6'] as const).map((addressType) => ({
    metadata: { name: addressType },
    addressType,
    ports: [{ port, protocol, ...(portName === '' ? {} : { name: portName }) }],
    endpoints: names.map((each): Endpoint => {
      const hinted = hints(each);
      return {
        addresses: [pods[each][addressType]],
        conditions: {},
        nodeName: pods[each].nodeName,
        ...(hinted === undefined ? {} : { hints: hinted }),
      };
    }),
  }));
}

/** The Service; if it is of type LoadBalancer, it has an address of each family unless the test sets others. */
export function service(spec: Partial<ServiceSpec> = {}, ingress?: readonly LoadBalancerIngress[]): Service {
  const clusterIPs = places.map(({ vip }) => vip);
  return {
    metadata: { namespace: 'shop', name: '1-web' },
    spec: {
      clusterIP: clusterIPs[0] ?? '',
      clusterIPs,
      ports: [{ port: 80, protocol: 'TCP', nodePort: 30080 }],
      ...spec,
    },
    status: { loadBalancer: { ingress: [...(ingress ?? places.map(({ balancer }) => ({ ip: balancer })))] } },
  };
}

/** One port number for two protocols. */
export const onBoth = (port: number, nodePort?: number): ServicePort[] =>
  (['UDP', 'TCP'] as const).map((protocol) => ({
    name: protocol.toLowerCase(),
    port,
    protocol,
    ...(nodePort === undefined ? {} : { nodePort }),
  }));

/** The slices of it: one Pod answers over UDP, one over TCP. */
export const slicesOnBoth = (overUdp: PodName, overTcp: PodName): readonly EndpointSlice[] => [
  ...slices([overUdp], { protocol: 'UDP', portName: 'udp' }),
  ...slices([overTcp], { protocol: 'TCP', portName: 'tcp' }),
];

/** The names in the responses, each once. */
export const names = (answers: readonly string[]): readonly string[] =>
  [...new Set(answers.map((answer) => answer.split(' ')[0] ?? ''))].sort();

/** Namespaces, and rules in that of the node. */
export interface Routed extends AsyncDisposable {
  readonly cluster: Cluster;
  readonly backend: NftablesBackend;
  readonly table: RoutingTable;
  /** Replaces the Service by another one, as an incremental update. */
  readonly route: (
    service: Service | undefined,
    slices?: readonly EndpointSlice[],
    options?: Partial<RouteOptions>,
  ) => Promise<void>;
}

/** The backend in the node of a cluster. */
export const openBackend = ({ node: at }: Cluster): Promise<NftablesBackend> =>
  NftablesBackend.open({ nft: at.within('nft'), conntrack: at.within('conntrack') });

/** Creates the namespaces and the rules. */
export async function startRouted(): Promise<Routed> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster());
  const backend = stack.use(await openBackend(cluster));
  const table = new RoutingTable(network);
  await backend.replace(table);
  const moved = stack.move();
  return {
    cluster,
    backend,
    table,
    route: async (of, its = [], options) => {
      const input = { slices: its, node, ...(options === undefined ? {} : { options }) };
      const own = of && { service: of, ...input };
      table.set('Service shop/1-web', own === undefined ? [] : routesOf(own), own && precedenceOf(own));
      await backend.apply(table.takeChange());
    },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
}
