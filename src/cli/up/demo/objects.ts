// The objects of the demo in each cluster.
import type { Manifest } from '../manifests.ts';

/** The namespace of the demo. */
export const demoNamespace = 'demo';

/** The ports of demo Pods: above 1023, which needs no privileges, and not 5353, which desktops use. */
export const ports = { http: 8080, kerberos: 8088, dns: 5300, sip: 5060 } as const;

/** A Pod of the demo, which is a process at its address. */
export interface DemoPod {
  readonly name: string;
  readonly address: string;
}

/** The Pods of the i-th cluster, with addresses in its Pod range. */
export const demoPods = (index: number): readonly DemoPod[] =>
  [1, 2].map((number) => ({ name: `shop-${number}`, address: `127.${192 + index}.1.${number}` }));

const bothProtocols = (name: string, port: number, more: object = {}): readonly object[] =>
  ['TCP', 'UDP'].map((protocol) => ({ name: `${name}-${protocol.toLowerCase()}`, protocol, port, ...more }));

const selector = { app: 'shop' };
const managedBy = { 'app.kubernetes.io/managed-by': 'fairlead-demo' };
const container = { name: 'shop', image: 'example.org/shop' };

/** A Service for the Pods. */
const service = (name: string, spec: object): Manifest =>
  manifest('v1', 'Service', name, { spec: { selector, ...spec } });

const loadBalancer = (name: string, port: number): Manifest =>
  service(name, { type: 'LoadBalancer', ports: bothProtocols(name, port) });

/** The objects that do not depend on feature gates, without the status of Pods. */
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

/** Objects that depend on feature gates; rejected ones are left out. */
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

/** The status of a Pod whose process serves. */
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
