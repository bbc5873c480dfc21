// Objects for the tests of routes.
import type { LoadBalancerIngress, Service, ServiceSpec } from '../../../api/kinds/core/service/schema.ts';
import type { Endpoint, EndpointSlice } from '../../../api/kinds/discovery/endpointslice/schema.ts';
import type { ObjectMeta } from '../../../api/metadata.ts';
import type { ThisNode } from '../options.ts';
import type { Action, NodeNetwork } from '../route.ts';

/** A Service `shop/web` at 10.96.0.10, port 80. */
export const service = (
  spec: Partial<ServiceSpec> = {},
  { ingress = [], ...metadata }: ObjectMeta & { readonly ingress?: readonly LoadBalancerIngress[] } = {},
): Service => ({
  metadata: { name: 'web', namespace: 'shop', ...metadata },
  spec: { clusterIP: '10.96.0.10', ports: [{ port: 80, protocol: 'TCP' }], ...spec },
  status: { loadBalancer: { ingress } },
});

/** The fields of an endpoint that a test sets; the default is a ready endpoint without node or zone. */
export interface EndpointSettings {
  readonly node?: string;
  readonly zone?: string;
  /** `ready`, `not-ready`, `terminating` (and serving), `gone` (terminating, not serving). */
  readonly state?: 'ready' | 'not-ready' | 'terminating' | 'gone';
  readonly forZones?: readonly string[];
  readonly forNodes?: readonly string[];
  readonly topology?: Readonly<Record<string, string>>;
}

const conditions = {
  ready: {},
  'not-ready': { ready: false },
  terminating: { ready: false, serving: true, terminating: true },
  gone: { ready: false, serving: false, terminating: true },
};

/** An endpoint. */
export function endpoint(address: string, settings: EndpointSettings = {}): Endpoint {
  const { node, zone, state = 'ready', forZones, forNodes, topology } = settings;
  const named = (list: readonly string[]): { readonly name: string }[] => list.map((name) => ({ name }));
  return {
    addresses: [address],
    conditions: conditions[state],
    ...(node === undefined ? {} : { nodeName: node }),
    ...(zone === undefined ? {} : { zone }),
    ...(topology === undefined ? {} : { deprecatedTopology: topology }),
    ...(forZones || forNodes
      ? {
          hints: {
            ...(forZones ? { forZones: named(forZones) } : {}),
            ...(forNodes ? { forNodes: named(forNodes) } : {}),
          },
        }
      : {}),
  };
}

/** A slice of IPv4 endpoints at port 8080 without a name, by default. */
export const slice = (
  endpoints: readonly Endpoint[],
  { cluster, ...rest }: Partial<EndpointSlice> & { readonly cluster?: string } = {},
): EndpointSlice => ({
  metadata: {
    name: `slice-${cluster ?? 'own'}`,
    namespace: 'shop',
    ...(cluster === undefined ? {} : { labels: { 'multicluster.kubernetes.io/source-cluster': cluster } }),
  },
  addressType: 'IPv4',
  ports: [{ port: 8080, protocol: 'TCP' }],
  endpoints: [...endpoints],
  ...rest,
});

/** The node `n1` in zone `a`. */
export const node: ThisNode = {
  name: 'n1',
  labels: {
    'kubernetes.io/hostname': 'n1',
    'topology.kubernetes.io/zone': 'a',
    'topology.kubernetes.io/region': 'r1',
  },
  nodePortAddresses: ['192.0.2.1'],
};

/** The network of `n1`. */
export const network: NodeNetwork = {
  addresses: new Set(['192.0.2.1', '127.0.0.1', '2001:db8::1']),
  podRanges: ['10.1.0.0/24', '2001:db8:1::/64'],
  serviceRanges: ['10.96.0.0/16', '2001:db8:96::/112'],
  masqueradeAll: false,
};

/** An action in one line: `10.0.0.1:8080 10.0.0.2:8080`, `reject`, `drop`. */
export const actionText = (action: Action | undefined): string =>
  action?.type === 'forward'
    ? action.targets.map(({ address, port }) => `${address}:${port}`).join(' ')
    : (action?.type ?? 'nothing');
