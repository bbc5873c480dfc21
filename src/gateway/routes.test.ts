import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import { refusal, routesOf } from './routes.ts';

const slice = (
  cluster: string,
  { annotations = {}, ...rest }: Partial<EndpointSlice> & { readonly annotations?: Record<string, string> },
): EndpointSlice => ({
  metadata: {
    namespace: 'shop',
    name: `web-${cluster}-${JSON.stringify(rest).length}`,
    labels: { 'multicluster.kubernetes.io/source-cluster': cluster, 'multicluster.kubernetes.io/service-name': 'web' },
    annotations,
  },
  addressType: 'IPv4',
  endpoints: [],
  ports: [],
  ...rest,
});
const endpoint = (address: string, ready: boolean, serving = ready) => ({
  addresses: [address],
  conditions: { ready, serving, terminating: serving && !ready },
});

test('exports have the ready endpoints of all slices by port, or else those that still serve', () => {
  const annotations = { 'fairlead.dev/importers': 'west,north' };
  const { exports, egress } = routesOf(
    [
      slice('east', {
        annotations,
        endpoints: [endpoint('10.1.0.1', true), endpoint('10.1.0.2', false, true), endpoint('10.1.0.3', false)],
        ports: [
          { name: 'http', protocol: 'TCP', port: 8080 },
          { name: 'dns', protocol: 'UDP', port: 53 },
        ],
      }),
      slice('east', {
        endpoints: [endpoint('10.1.0.4', true)],
        ports: [{ name: 'http', protocol: 'TCP', port: 9090 }],
      }),
      slice('east', { endpoints: [endpoint('10.1.0.5', false, true)], ports: [{ name: 'old', port: 1 }] }),
    ],
    'east',
  );
  assert.deepEqual(Object.fromEntries(exports.get('shop/web')?.ports ?? []), {
    'TCP/http': [
      { host: '10.1.0.1', port: 8080 },
      { host: '10.1.0.4', port: 9090 },
    ],
    'UDP/dns': [{ host: '10.1.0.1', port: 53 }],
    'TCP/old': [{ host: '10.1.0.5', port: 1 }],
  });
  assert.deepEqual(egress, new Map());
});

test('ports lead to the gateways of other clusters, if they are in the range of gateways', () => {
  const annotations = { 'fairlead.dev/remote-gateways': '192.0.2.1:9443,nonsense,[2001:db8::1]:9444' };
  const ports = [
    { name: 'http', protocol: 'TCP' as const, port: 20_123 },
    { name: 'low', protocol: 'TCP' as const, port: 22 },
    { name: 'sctp', protocol: 'SCTP' as const, port: 20_124 },
  ];
  const { egress } = routesOf([slice('east', { annotations, ports }), slice('west', { ports })], 'north');
  assert.deepEqual(
    [...egress],
    [
      [
        'TCP/20123',
        {
          port: 20_123,
          protocol: 'TCP',
          service: { namespace: 'shop', name: 'web', cluster: 'east' },
          remotePort: 'TCP/http',
          gateways: [
            { host: '192.0.2.1', port: 9443 },
            { host: '2001:db8::1', port: 9444 },
          ],
        },
      ],
    ],
  );
});

test('a cluster may use what is exported to it, and gets one answer for everything else', () => {
  const routes = routesOf([slice('east', { annotations: { 'fairlead.dev/importers': 'west' } })], 'east');
  const web = { namespace: 'shop', name: 'web', cluster: 'east' };
  assert.equal(refusal(routes, web, 'west'), undefined);
  assert.equal(refusal(routes, web, 'north'), 'web.shop.east is not exported to cluster north');
  assert.equal(refusal(routes, { ...web, name: 'db' }, 'west'), 'db.shop.east is not exported to cluster west');
  assert.equal(refusal(routesOf([slice('east', {})], 'east'), web, ''), 'web.shop.east is not exported to cluster ');
});
