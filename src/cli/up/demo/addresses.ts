import { setTimeout as delay } from 'node:timers/promises';

import type { Transport } from '../../../client/transport.ts';
import type { ControlPlane } from '../control-plane.ts';
import type { ClusterState } from '../state.ts';
import { demoNamespace } from './objects.ts';
import type { Found } from './suggestions.ts';

/** How long the other parts may take to give addresses to what was made, before it is printed without them. */
const patienceMs = 5000;

/** The fields of Services and ImportedServices that addresses are in. */
interface Addressed {
  readonly spec?: { readonly clusterIP?: string; readonly ip?: string };
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string }[] } };
}

/** Where the demo is reached in one cluster; it takes the other parts a moment to give theirs. */
export async function findAddresses(
  { state, connect }: ControlPlane,
  { name, dns }: ClusterState,
  isMade: (name: string) => boolean,
): Promise<Found> {
  using api = connect(name);
  // Some parts run once for all clusters.
  const parts = new Set(state.clusters.flatMap((cluster) => cluster.parts.map((part) => part.name)));
  const services = `/api/v1/namespaces/${demoNamespace}/services`;
  const imports = `/apis/multicluster.k8s.io/v1alpha1/namespaces/${demoNamespace}/importedservices`;
  const clusterIp = ({ spec }: Addressed): string | undefined => spec?.clusterIP;
  const balancer = ({ status }: Addressed): string | undefined => status?.loadBalancer?.ingress?.[0]?.ip;
  const end = performance.now() + patienceMs;
  const address = (path: string, read: (object: Addressed) => string | undefined, isExpected = true) =>
    isExpected ? addressAt(api, path, { read, end }) : Promise.resolve(undefined);
  const [shop, digits, names, sip, everywhere] = await Promise.all([
    address(`${services}/shop`, clusterIp),
    address(`${services}/2048`, clusterIp, isMade('2048')),
    address(`${services}/dns`, balancer, isMade('dns') && parts.has('loadbalancer')),
    address(`${services}/sip`, balancer, isMade('sip') && parts.has('loadbalancer')),
    address(`${imports}/shop`, ({ spec }) => spec?.ip, parts.has('multicluster')),
  ]);
  return { dns, shop, everywhere, digits, names, sip };
}

/** The address of an object once it has one; undefined: not in time. */
async function addressAt(
  api: Transport,
  path: string,
  { read, end }: { readonly read: (object: Addressed) => string | undefined; readonly end: number },
): Promise<string | undefined> {
  for (; performance.now() < end; await delay(20)) {
    const { status, body } = await api.request({ method: 'GET', path });
    // A cast where bytes become objects: a Service or an ImportedService.
    const ip = status === 200 ? read(JSON.parse(body) as Addressed) : undefined;
    if (ip !== undefined && ip !== '') return ip;
  }
  return undefined;
}
