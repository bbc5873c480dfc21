import assert from 'node:assert/strict';
import { test } from 'node:test';

import { endpoint, node, service, slice } from './objects.fixture.ts';
import type { RouteInput } from './routes.ts';
import { why } from './why.ts';

const reasons = (input: RouteInput): readonly string[] =>
  why(input).endpoints.map(({ address, usedBy, reason }) => `${address} ${usedBy.join('+') || 'unused'}: ${reason}`);

test('each endpoint is told with why it is used or not', () => {
  const slices = [
    slice([
      endpoint('10.1.0.1', { node: 'n1', forZones: ['a'] }),
      endpoint('10.1.0.2', { node: 'n1', forZones: ['b'] }),
      endpoint('10.1.0.3', { node: 'n2', forZones: ['b', 'c'] }),
      endpoint('10.1.0.4', { state: 'not-ready' }),
      endpoint('10.1.0.5', { state: 'terminating' }),
      endpoint('10.1.0.6', { state: 'gone' }),
    ]),
  ];
  assert.deepEqual(reasons({ service: service(), slices, node }), [
    "10.1.0.1 Cluster+Local: hinted to this node's zone",
    "10.1.0.2 Local: hinted to zone b, not to this node's a; policy Local uses it",
    "10.1.0.3 unused: hinted to zone b, c, not to this node's a",
    '10.1.0.4 unused: not ready',
    '10.1.0.5 unused: terminating, and others are ready',
    '10.1.0.6 unused: terminating, and no longer serving',
  ]);
});

test('endpoints that terminate are told apart by what they stand in for', () => {
  const terminating = endpoint('10.1.0.5', { node: 'n1', state: 'terminating' });
  assert.deepEqual(reasons({ service: service(), slices: [slice([terminating])], node }), [
    '10.1.0.5 Cluster+Local: terminating, but still serving, and nothing is ready',
  ]);
  const slices = [slice([terminating, endpoint('10.1.1.1', { node: 'n2' })])];
  assert.deepEqual(reasons({ service: service(), slices, node }), [
    '10.1.0.5 Local: terminating, but still serving, and nothing on this node is ready',
    '10.1.1.1 Cluster: ready',
  ]);
});

test('MCS-133 topology keys are told with the cluster they are of', () => {
  const imported = {
    metadata: {},
    spec: {
      ip: '10.128.0.5',
      ipFamily: 'IPv4' as const,
      ports: [{ port: 80 }],
      clusters: [
        { cluster: 'east', topologyKeys: ['topology.kubernetes.io/zone'] },
        { cluster: 'west', topologyKeys: ['kubernetes.io/hostname'] },
        { cluster: 'north', topologyKeys: ['*'] },
      ],
    },
  };
  const slices = [
    slice([endpoint('10.2.0.1', { zone: 'a' }), endpoint('10.2.0.2', { zone: 'b' })], { cluster: 'east' }),
    slice([endpoint('10.3.0.1', { zone: 'a' })], { cluster: 'west' }),
    slice([endpoint('10.4.0.1', { zone: 'd' })], { cluster: 'north' }),
  ];
  assert.deepEqual(reasons({ import: { key: 'shop/web', imported, serviceImport: undefined }, slices, node }), [
    "10.2.0.1 Cluster: shares this node's topology.kubernetes.io/zone",
    "10.2.0.2 unused: its topology.kubernetes.io/zone is b, not this node's a",
    '10.3.0.1 unused: no topology key of cluster west matches this node',
    '10.4.0.1 unused: there are endpoints in other clusters that are nearer',
  ]);
});

test('what has no routes at all, and slices that are of no use, are told', () => {
  assert.equal(
    why({ service: service({ clusterIP: 'None' }), slices: [], node }).unrouted,
    'it is headless: clients connect to its endpoints',
  );
  const slices = [
    slice([endpoint('db.example.org')], { addressType: 'FQDN', metadata: { name: 'names' } }),
    slice([endpoint('10.1.0.1')], { ports: [{ name: 'other', port: 1 }], metadata: { name: 'ports' } }),
  ];
  assert.deepEqual(why({ service: service(), slices, node }).ignoredSlices, [
    'names: its endpoints are names, and connections need addresses',
    'ports: no port of it has the name and protocol of a port of the Service, or its family is not in use',
  ]);
});
