// The objects of the demo in each cluster.
import { fileURLToPath } from 'node:url';

import type { Manifest } from '../manifests.ts';

const program = fileURLToPath(new URL('./backend.ts', import.meta.url));

/** The namespace of the demo. */
export const demoNamespace = 'demo';

/** The ports of demo Pods: above 1023, which needs no privileges, and not 5353, which desktops use. */
export const ports = { http: 8080, kerberos: 8088, dns: 5300, sip: 5060 } as const;

/** The file that exists in the working directory of a demo Pod while its program serves. */
export const servingFile = 'serving';

const bothProtocols = (name: string, port: number, more: object = {}): readonly object[] =>
  ['TCP', 'UDP'].map((protocol) => ({ name: `${name}-${protocol.toLowerCase()}`, protocol, port, ...more }));

const selector = { app: 'shop' };
const managedBy = { 'app.kubernetes.io/managed-by': 'fairlead-demo' };

/** The Deployment of a cluster: its Pods are processes of this machine that answer with their name. */
export function demoDeployment(cluster: string, nodeName: string): Manifest {
  const container = {
    name: 'shop',
    image: 'process',
    command: [process.execPath, program, `$(POD_NAME) of ${cluster}`, '$(POD_IP)'],
    // A program of another demo may answer at the same address. An image has no program but Node.
    startupProbe: {
      exec: { command: [process.execPath, '-e', `fs.accessSync('${servingFile}')`] },
      periodSeconds: 1,
      timeoutSeconds: 5,
      failureThreshold: 30,
    },
    readinessProbe: { httpGet: { path: '/', port: ports.http }, periodSeconds: 1 },
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
  const spec = {
    // The program is on this machine only.
    nodeSelector: { 'kubernetes.io/hostname': nodeName },
    terminationGracePeriodSeconds: 5,
    containers: [container],
  };
  const template = { metadata: { labels: { ...selector, ...managedBy } }, spec };
  return manifest('apps/v1', 'Deployment', 'shop', {
    metadata: { labels: managedBy },
    spec: { replicas: 2, selector: { matchLabels: selector }, template },
  });
}

/** A Service for the Pods. */
const service = (name: string, spec: object): Manifest =>
  manifest('v1', 'Service', name, { spec: { selector, ...spec } });

const loadBalancer = (name: string, port: number): Manifest =>
  service(name, { type: 'LoadBalancer', ports: bothProtocols(name, port) });

/** The namespace of the demo, before its Pods. */
export const namespaceManifest: Manifest = manifest('v1', 'Namespace', demoNamespace, {});

/** The objects that do not depend on feature gates, besides the Pods. */
export const demoManifests: readonly Manifest[] = [
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

/** Selects the Pods of the demo. */
export const demoPodSelector = Object.entries(managedBy)
  .map((label) => label.join('='))
  .join();
