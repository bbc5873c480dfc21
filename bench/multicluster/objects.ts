// The exported objects: services with one slice each, spread evenly over the clusters.

import type { Target } from '../client.ts';
import { Connection } from '../client.ts';

/** The size of a set. */
export interface Scale {
  readonly clusters: number;
  readonly services: number;
  /** Endpoints per service, all in one slice. */
  readonly endpoints: number;
  /** The number of clusters with the namespace of a service, which import it; default: all. */
  readonly importers?: number;
}

export const importersOf = ({ clusters, importers = clusters }: Scale): number => importers;

/** Neighboring services share a namespace. */
const namespaceIn = (cluster: number, scale: Scale): string => `shop-${Math.floor(cluster / importersOf(scale))}`;
const namespaceOf = (service: number, scale: Scale): string => namespaceIn(service % scale.clusters, scale);

export const groups = {
  supercluster: 'multicluster.k8s.io/v1alpha1',
  clusterset: 'multicluster.x-k8s.io/v1beta1',
  slices: 'discovery.k8s.io/v1',
} as const;

/** A request for `Connection.request`. */
type Request = readonly [method: string, path: string, body?: string, type?: string];

const pathOf = (group: string, plural: string, namespace: string): string =>
  `/apis/${group}/namespaces/${namespace}/${plural}`;
const exportGroups = [groups.supercluster, groups.clusterset];

export const serviceName = (index: number): string => `s${index}`;

/** A Service, with its slice. */
const serviceRequests = (index: number, scale: Scale): readonly Request[] => [
  [
    'POST',
    `/api/v1/namespaces/${namespaceOf(index, scale)}/services`,
    JSON.stringify({ metadata: { name: serviceName(index) }, spec: { ports: [{ name: 'http', port: 80 }] } }),
  ],
  [
    'POST',
    pathOf(groups.slices, 'endpointslices', namespaceOf(index, scale)),
    JSON.stringify(slice(index, addressesOf(index, scale))),
  ],
];

/** Exports in both shapes. */
export const exportRequests = (index: number, scale: Scale): readonly Request[] =>
  exportGroups.map((apiVersion) => {
    const object = { apiVersion, kind: 'ServiceExport', metadata: { name: serviceName(index) } };
    return ['POST', pathOf(apiVersion, 'serviceexports', namespaceOf(index, scale)), JSON.stringify(object)];
  });

export const unexportRequests = (index: number, scale: Scale): readonly Request[] =>
  exportGroups.map((group) => [
    'DELETE',
    `${pathOf(group, 'serviceexports', namespaceOf(index, scale))}/${serviceName(index)}`,
  ]);

/** Replaces one address. */
export const changeRequest = (index: number, address: string, scale: Scale): Request => [
  'PUT',
  `${pathOf(groups.slices, 'endpointslices', namespaceOf(index, scale))}/${serviceName(index)}-abc`,
  JSON.stringify(slice(index, [address, ...addressesOf(index, scale).slice(1)])),
];

const addressesOf = (service: number, { endpoints }: Scale): readonly string[] =>
  Array.from({ length: endpoints }, (_, index) => `10.${service >> 8}.${service & 255}.${index + 1}`);

const slice = (index: number, addresses: readonly string[]): object => ({
  metadata: {
    name: `${serviceName(index)}-abc`,
    labels: {
      'kubernetes.io/service-name': serviceName(index),
      'endpointslice.kubernetes.io/managed-by': 'bench',
    },
  },
  addressType: 'IPv4',
  endpoints: addresses.map((address, each) => ({
    addresses: [address],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: `node-${each % 100}`,
    zone: `zone-${each % 3}`,
  })),
  ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
});

const writers = 8;

/** Creates the namespaces of every cluster. */
export async function makeNamespaces(targets: readonly Target[], scale: Scale): Promise<void> {
  const body = (cluster: number): string => JSON.stringify({ metadata: { name: namespaceIn(cluster, scale) } });
  await Promise.all(targets.map((target, cluster) => send(target, [['POST', '/api/v1/namespaces', body(cluster)]])));
}

/** Creates services of a range of numbers, and by default exports them. */
export async function fill(
  targets: readonly Target[],
  scale: Scale,
  { from, to, isExported }: { from: number; to: number; isExported: boolean },
): Promise<void> {
  let next = from;
  const work = async (): Promise<void> => {
    const connections = await Promise.all(targets.map((target) => Connection.open(target)));
    for (let index = next++; index < to; index = next++) {
      const connection = connections[index % targets.length];
      const requests = [...serviceRequests(index, scale), ...(isExported ? exportRequests(index, scale) : [])];
      for (const request of requests) await ask(connection, request);
    }
    for (const connection of connections) connection.close();
  };
  await Promise.all(Array.from({ length: writers }, work));
}

/** Sends requests one after the other. */
export async function send(target: Target, requests: readonly Request[]): Promise<void> {
  const connection = await Connection.open(target);
  for (const request of requests) await ask(connection, request);
  connection.close();
}

/** Sends one request; throws if it is rejected. */
export async function ask(connection: Connection | undefined, [method, path, ...rest]: Request): Promise<void> {
  if (connection === undefined) throw new Error('bug: no such cluster');
  const { status, body } = await connection.request(method, path, ...rest);
  if (status > 299) throw new Error(`${method} ${path}: ${status} ${body.toString().slice(0, 300)}`);
}
