// What the demo has in each cluster.
import type { Manifest } from '../manifests.ts';

/** Where the demo is. */
export const demoNamespace = 'demo';

/** Where a Pod of the demo serves: above 1023, so that nobody needs any rights; not 5353, which desktops have in use. */
export const ports = { http: 8080, kerberos: 8088, dns: 5300, sip: 5060 } as const;

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
const managedBy = { 'app.kubernetes.io/managed-by': 'fairlead-demo' };
const container = { name: 'shop', image: 'example.org/shop' };

/** A Service before the Pods. */
const service = (name: string, spec: object): Manifest =>
  manifest('v1', 'Service', name, { spec: { selector, ...spec } });

const loadBalancer = (name: string, port: number): Manifest =>
  service(name, { type: 'LoadBalancer', ports: bothProtocols(name, port) });

/** Everything that any cluster takes, but what its Pods say of themselves. */
export const demoManifests = (pods: readonly DemoPod[]): readonly Manifest[] => [
  manifest('v1', 'Namespace', demoNamespace, {}),
  ...pods.map(({ name }) =>
    manifest('v1', 'Pod', name, {
      metadata: { labels: { ...selector, ...managedBy } },
      spec: { containers: [container] },
    }),
  ),
  service('shop', { ports: [{ name: 'http', port: ports.http }] }),
  manifest('multicluster.k8s.io/v1alpha1', 'ServiceExport', 'shop', {}),
  service('idm', { ports: bothProtocols('kerberos', ports.kerberos, { srvServiceName: 'kerberos' }) }),
  manifest('v1', 'Service', 'old-shop', {
    spec: { type: 'ExternalName', externalName: `shop.${demoNamespace}.svc.cluster.local` },
  }),
];

/** What a feature gate may keep out: each is made where it may be. */
export const gatedManifests: readonly Manifest[] = [
  service('2048', { ports: [{ name: 'http', port: ports.http }] }),
  loadBalancer('dns', ports.dns),
  loadBalancer('sip', ports.sip),
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

/** The status of a Pod whose process serves, and since when. */
export const readyStatus = ({ address }: DemoPod, startedAt: string): object => ({
  phase: 'Running',
  podIP: address,
  podIPs: [{ ip: address }],
  conditions: [{ type: 'Ready', status: 'True' }],
  containerStatuses: [{ ...container, imageID: '', ready: true, restartCount: 0, state: { running: { startedAt } } }],
});

/** Selects the Pods of the demo. */
export const demoPodSelector = Object.entries(managedBy)
  .map((label) => label.join('='))
  .join();

/** The status of a Pod whose process has ended. */
export const endedStatus = {
  conditions: [{ type: 'Ready', status: 'False', reason: 'Ended', message: 'the process of the demo has ended' }],
  containerStatuses: [
    {
      ...container,
      imageID: '',
      ready: false,
      restartCount: 0,
      state: { terminated: { exitCode: 0, reason: 'Completed' } },
    },
  ],
};
