// Services with one slice each, in every cluster.
import type { Target } from '../client.ts';
import { send } from '../send.ts';

/** The size of the map. */
export interface MapScale {
  readonly clusters: number;
  /** In each cluster. */
  readonly services: number;
  readonly endpoints: number;
}

const namespaces = 50;

/** The namespace of a Service: its neighbours are in others. */
export const namespaceOf = (index: number): string => `shop-${index % namespaces}`;

const slicesOf = (index: number): string => `/apis/discovery.k8s.io/v1/namespaces/${namespaceOf(index)}/endpointslices`;

/** Fills the clusters. */
export async function fillMap(targets: readonly Target[], { services, endpoints }: MapScale): Promise<void> {
  for (const target of targets) {
    await send(target, namespaces, (index) => [
      'POST',
      '/api/v1/namespaces',
      { metadata: { name: namespaceOf(index) } },
    ]);
    await send(target, services, (index) => [
      'POST',
      `/api/v1/namespaces/${namespaceOf(index)}/services`,
      { metadata: { name: `s${index}` }, spec: { ports: [{ name: 'http', port: 80 }] } },
    ]);
    await send(target, services, (index) => ['POST', slicesOf(index), sliceOf(index, endpoints, 0)]);
  }
}

/** Makes a number of endpoints of a Service not ready, and the others ready. */
export const changeOf = (index: number, endpoints: number, notReady: number) =>
  ['PUT', `${slicesOf(index)}/s${index}-abc`, JSON.stringify(sliceOf(index, endpoints, notReady))] as const;

function sliceOf(index: number, endpoints: number, notReady: number): object {
  return {
    metadata: { name: `s${index}-abc`, labels: { 'kubernetes.io/service-name': `s${index}` } },
    addressType: 'IPv4',
    ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
    endpoints: Array.from({ length: endpoints }, (_, each) => ({
      addresses: [`10.${index >> 8}.${index & 255}.${each + 1}`],
      conditions: { ready: each >= notReady },
    })),
  };
}
