// What the demo has in each cluster.
import type { Manifest } from '../apply/manifests.ts';

/** Where the demo is. */
export const demoNamespace = 'demo';

/** A Pod of the demo, whose address is a real process. */
export interface DemoPod {
  readonly name: string;
  readonly address: string;
}

/** The Pods of the i-th cluster, in its range of Pods. */
export const demoPods = (index: number): readonly DemoPod[] =>
  [1, 2].map((number) => ({ name: `shop-${number}`, address: `127.${192 + index}.1.${number}` }));

const bothProtocols = (name: string, port: number, more: object = {}): readonly object[] =>
  ['TCP', 'UDP'].map((protocol) => ({ name: `${name}-${protocol.toLowerCase()}`, protocol, port, ...more }));

const selector = { app: 'shop' };

/** Everything of the demo in one cluster, but what its Pods say of themselves. */
export const demoManifests = (pods: readonly DemoPod[]): readonly Manifest[] => [
  manifest('v1', 'Namespace', demoNamespace, {}),
  ...pods.map(({ name }) =>
    manifest('v1', 'Pod', name, {
      metadata: { labels: selector },
      spec: { containers: [{ name: 'shop', image: 'example.org/shop' }] },
    }),
  ),
  manifest('v1', 'Service', 'shop', { spec: { selector, ports: [{ name: 'http', port: 8080 }] } }),
  manifest('multicluster.k8s.io/v1alpha1', 'ServiceExport', 'shop', {}),
  manifest('v1', 'Service', 'sip', { spec: { type: 'LoadBalancer', selector, ports: bothProtocols('sip', 5060) } }),
  manifest('v1', 'Service', 'idm', {
    spec: { selector, ports: bothProtocols('kerberos', 8088, { srvServiceName: 'kerberos' }) },
  }),
];

function manifest(
  apiVersion: string,
  kind: string,
  name: string,
  { metadata = {}, ...rest }: { readonly metadata?: object; readonly spec?: object },
): Manifest {
  const namespace = kind === 'Namespace' ? undefined : demoNamespace;
  const own = { name, ...(namespace === undefined ? {} : { namespace }) };
  const object = { apiVersion, kind, metadata: { ...own, ...metadata }, ...rest };
  return { source: 'the demo', apiVersion, kind, name, namespace, object };
}

/** What a Pod says of itself once its process serves. */
export const readyStatus = ({ address }: DemoPod): object => ({
  phase: 'Running',
  podIP: address,
  podIPs: [{ ip: address }],
  conditions: [{ type: 'Ready', status: 'True' }],
});
