import { setTimeout as delay } from 'node:timers/promises';

import type { Transport } from '../../../client/transport.ts';
import type { ControlPlane } from '../control-plane.ts';
import type { ClusterState } from '../state.ts';
import { demoNamespace } from './objects.ts';
import type { Found } from './suggestions.ts';

/** How long to wait for addresses of load balancers and imports; then they are left out. */
const timeoutMs = 5000;

/** The address fields of Services and ImportedServices. */
interface Addressed {
  readonly spec?: { readonly clusterIP?: string; readonly ip?: string };
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string }[] } };
}

/** The addresses of the demo in one cluster. Other parts allocate some of them, so it waits for these. */
export async function findAddresses(
  { state, connect }: ControlPlane,
  { name, dns }: ClusterState,
  isCreated: (name: string) => boolean,
): Promise<Found> {
  using api = connect(name);
  // Some parts run once for all clusters.
  const parts = new Set(state.clusters.flatMap((cluster) => cluster.parts.map((part) => part.name)));
  const services = `/api/v1/namespaces/${demoNamespace}/services`;
  const imports = `/apis/multicluster.k8s.io/v1alpha1/namespaces/${demoNamespace}/importedservices`;
  const clusterIp = ({ spec }: Addressed): string | undefined => spec?.clusterIP;
  const balancer = ({ status }: Addressed): string | undefined => status?.loadBalancer?.ingress?.[0]?.ip;
  const end = performance.now() + timeoutMs;
  const address = (path: string, read: (object: Addressed) => string | undefined, isExpected = true) =>
    isExpected ? addressAt(api, path, { read, end }) : Promise.resolve(undefined);
  const [shop, digits, names, sip, everywhere] = await Promise.all([
    address(`${services}/shop`, clusterIp),
    address(`${services}/2048`, clusterIp, isCreated('2048')),
    address(`${services}/dns`, balancer, isCreated('dns') && parts.has('loadbalancer')),
    address(`${services}/sip`, balancer, isCreated('sip') && parts.has('loadbalancer')),
    address(`${imports}/shop`, ({ spec }) => spec?.ip, parts.has('multicluster')),
  ]);
  return { dns, shop, everywhere, digits, names, sip };
}

/** Waits for the address of an object; undefined: it timed out. */
async function addressAt(
  api: Transport,
  path: string,
  { read, end }: { readonly read: (object: Addressed) => string | undefined; readonly end: number },
): Promise<string | undefined> {
  for (; performance.now() < end; await delay(20)) {
    const { status, body } = await api.request({ method: 'GET', path });
    // A cast: the response is a Service or an ImportedService.
    const ip = status === 200 ? read(JSON.parse(body) as Addressed) : undefined;
    if (ip !== undefined && ip !== '') return ip;
  }
  return undefined;
}
