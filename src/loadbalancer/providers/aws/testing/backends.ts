import type { Node } from '../../../../api/kinds/core/node/schema.ts';
import type { EndpointSlice } from '../../../../api/kinds/discovery/endpointslice/schema.ts';
import type { Backends } from '../../../controller/provider.ts';

/** A node on an EC2 instance. */
export const nodeAt = (instance: string): Node => ({
  metadata: { name: `node-${instance}` },
  spec: { providerID: `aws:///eu-central-1a/${instance}` },
  status: {} as Node['status'], // a cast: not read here
});

/** Backends with these instances. */
export const toNodes = (instances: readonly string[]): Backends => ({ nodes: instances.map(nodeAt), slices: [] });

/** A slice of `web` with endpoints written as `172.31.0.1` or `172.31.0.1 unready`. */
export const sliceOf = (ports: Readonly<Record<string, number>>, ...endpoints: readonly string[]): EndpointSlice => ({
  metadata: { name: 'web-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'web' } },
  addressType: 'IPv4',
  ports: Object.entries(ports).map(([name, port]) => ({
    name,
    port,
    protocol: name.startsWith('udp') ? 'UDP' : 'TCP',
  })),
  endpoints: endpoints.map((text) => ({
    addresses: [text.split(' ')[0] ?? ''],
    conditions: { ready: !text.endsWith('unready') },
  })),
});
