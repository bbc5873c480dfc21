// A cluster of Services with ten Pods each, and changes of its Pods.

import { timestamp } from '../../src/api/timestamp.ts';
import type { Target } from '../client.ts';
import { send } from '../send.ts';

const namespaces = 10;
/** Pods per Service. */
export const podsPerService = 10;

/** The size of the cluster. */
export interface Scale {
  readonly services: number;
}

const serviceName = (index: number): string => `service-${index}`;
const podName = (service: number, index: number): string => `${serviceName(service)}-7d4b9c6f5-${index}`;
const namespaceOf = (service: number): string => `shop-${service % namespaces}`;

/** Creates nodes, Services and ready Pods. */
export async function fill(target: Target, { services }: Scale): Promise<void> {
  await send(target, namespaces, (index) => ['POST', '/api/v1/namespaces', { metadata: { name: namespaceOf(index) } }]);
  await send(target, 100, (index) => [
    'POST',
    '/api/v1/nodes',
    { metadata: { name: `node-${index}`, labels: { 'topology.kubernetes.io/zone': `zone-${index % 3}` } } },
  ]);
  await send(target, services, (index) => [
    'POST',
    `/api/v1/namespaces/${namespaceOf(index)}/services`,
    {
      metadata: { name: serviceName(index), labels: { app: serviceName(index) } },
      spec: { selector: { app: serviceName(index) }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
    },
  ]);
  const pods = services * podsPerService;
  await send(target, pods, (number) => {
    const [service, index] = [Math.floor(number / podsPerService), number % podsPerService];
    return ['POST', `/api/v1/namespaces/${namespaceOf(service)}/pods`, podOf(service, index)];
  });
  await send(target, pods, (number) => {
    const [service, index] = [Math.floor(number / podsPerService), number % podsPerService];
    return statusOf(service, index, { ready: true, ip: addressOf(number) });
  });
}

const addressOf = (number: number): string => `10.${64 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;

/** A Pod like those of a Deployment: one container with typical fields. */
const podOf = (service: number, index: number): object => ({
  metadata: {
    name: podName(service, index),
    labels: { app: serviceName(service), 'pod-template-hash': '7d4b9c6f5' },
  },
  spec: {
    nodeName: `node-${(service + index) % 100}`,
    containers: [
      {
        name: 'app',
        image: 'registry.example.org/shop/app:1.2.3',
        ports: [{ name: 'http', containerPort: 8080 }],
        env: [{ name: 'LOG_LEVEL', value: 'info' }],
        resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
        readinessProbe: { httpGet: { path: '/ready', port: 8080 } },
      },
    ],
  },
});

function statusOf(
  service: number,
  index: number,
  { ready, ip }: { readonly ready: boolean; readonly ip: string },
): readonly [string, string, unknown, string] {
  const lastTransitionTime = timestamp(Date.now());
  const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime }];
  const status = { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions };
  const path = `/api/v1/namespaces/${namespaceOf(service)}/pods/${podName(service, index)}/status`;
  return ['PATCH', path, { status }, 'application/merge-patch+json'];
}

/** Makes one Pod of each of `count` Services not ready; resolves with the start time. */
export const changePods = (target: Target, count: number, { services }: Scale): Promise<number> =>
  send(target, count, (index) => {
    const [service, pod] = count === 1 ? [services - 1, 3] : [index, 4];
    return statusOf(service, pod, { ready: false, ip: addressOf(service * podsPerService + pod) });
  });
