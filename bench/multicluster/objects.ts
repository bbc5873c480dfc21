// What is exported: services of one slice each, spread evenly over the clusters.

import type { Target } from '../client.ts';
import { Connection } from '../client.ts';

/** How much there is. */
export interface Scale {
  readonly clusters: number;
  readonly services: number;
  /** Of each service, all in one slice. */
  readonly endpoints: number;
}

export const namespace = 'shop';
export const groups = {
  seed: 'multicluster.k8s.io/v1alpha1',
  current: 'multicluster.x-k8s.io/v1beta1',
  slices: 'discovery.k8s.io/v1',
} as const;

/** A request as `Connection.request` takes it. */
type Request = readonly [method: string, path: string, body?: string, type?: string];

const inShop = (group: string, plural: string): string => `/apis/${group}/namespaces/${namespace}/${plural}`;
const exportGroups = [groups.seed, groups.current];

export const serviceName = (index: number): string => `s${index}`;

/** A Service, with its slice. */
const serviceRequests = (index: number, endpoints: number): readonly Request[] => [
  [
    'POST',
    `/api/v1/namespaces/${namespace}/services`,
    JSON.stringify({ metadata: { name: serviceName(index) }, spec: { ports: [{ name: 'http', port: 80 }] } }),
  ],
  ['POST', inShop(groups.slices, 'endpointslices'), JSON.stringify(slice(index, addressesOf(index, endpoints)))],
];

/** Exports in both shapes. */
export const exportRequests = (index: number): readonly Request[] =>
  exportGroups.map((apiVersion) => {
    const object = { apiVersion, kind: 'ServiceExport', metadata: { name: serviceName(index) } };
    return ['POST', inShop(apiVersion, 'serviceexports'), JSON.stringify(object)];
  });

export const unexportRequests = (index: number): readonly Request[] =>
  exportGroups.map((group) => ['DELETE', `${inShop(group, 'serviceexports')}/${serviceName(index)}`]);

/** Another address in the place of the first. */
export const changeRequest = (index: number, address: string, endpoints: number): Request => [
  'PUT',
  `${inShop(groups.slices, 'endpointslices')}/${serviceName(index)}-abc`,
  JSON.stringify(slice(index, [address, ...addressesOf(index, endpoints).slice(1)])),
];

const addressesOf = (service: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `10.${service >> 8}.${service & 255}.${index + 1}`);

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

/** Makes the namespace in every cluster. */
export async function makeNamespaces(targets: readonly Target[]): Promise<void> {
  const body = JSON.stringify({ metadata: { name: namespace } });
  await Promise.all(targets.map((target) => send(target, [['POST', '/api/v1/namespaces', body]])));
}

/** Makes services from one number to another, and exports them unless told not to. */
export async function fill(
  targets: readonly Target[],
  { from, to, endpoints, isExported }: { from: number; to: number; endpoints: number; isExported: boolean },
): Promise<void> {
  let next = from;
  const work = async (): Promise<void> => {
    const connections = await Promise.all(targets.map((target) => Connection.open(target)));
    for (let index = next++; index < to; index = next++) {
      const connection = connections[index % targets.length];
      const requests = [...serviceRequests(index, endpoints), ...(isExported ? exportRequests(index) : [])];
      for (const request of requests) await ask(connection, request);
    }
    for (const connection of connections) connection.close();
  };
  await Promise.all(Array.from({ length: writers }, work));
}

/** Makes requests one after the other. */
export async function send(target: Target, requests: readonly Request[]): Promise<void> {
  const connection = await Connection.open(target);
  for (const request of requests) await ask(connection, request);
  connection.close();
}

/** Makes one request; what is refused is thrown. */
export async function ask(connection: Connection | undefined, [method, path, ...rest]: Request): Promise<void> {
  if (connection === undefined) throw new Error('bug: no such cluster');
  const { status, body } = await connection.request(method, path, ...rest);
  if (status > 299) throw new Error(`${method} ${path}: ${status} ${body.toString().slice(0, 300)}`);
}
