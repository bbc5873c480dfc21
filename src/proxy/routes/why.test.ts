import assert from 'node:assert/strict';
import { test } from 'node:test';

import { endpoint, node, service, slice } from './testing/objects.ts';
import type { RouteInput } from './routes.ts';
import { why } from './why.ts';

const reasons = (input: RouteInput): readonly string[] =>
  why(input).endpoints.map(({ address, usedAt, usedNearAt, reason }) => {
    const uses = [...usedAt, ...usedNearAt.map((kind) => `near ${kind}`)];
    return `${address} ${uses.join('+') || 'unused'}: ${reason}`;
  });

test('explains why each endpoint is used or not', () => {
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
    "10.1.0.1 clusterIP: hinted to this node's zone",
    "10.1.0.2 unused: hinted to zone b, not to this node's a",
    "10.1.0.3 unused: hinted to zone b, c, not to this node's a",
    '10.1.0.4 unused: not ready',
    '10.1.0.5 unused: terminating, and others are ready',
    '10.1.0.6 unused: terminating, and no longer serving',
  ]);
  assert.deepEqual(reasons({ service: service({ internalTrafficPolicy: 'Local' }), slices, node }).slice(0, 3), [
    "10.1.0.1 clusterIP: hinted to this node's zone",
    "10.1.0.2 clusterIP: hinted to zone b, not to this node's a; policy Local uses it",
    "10.1.0.3 unused: hinted to zone b, c, not to this node's a",
  ]);
});

test('explains the use of terminating endpoints', () => {
  const terminating = endpoint('10.1.0.5', { node: 'n1', state: 'terminating' });
  assert.deepEqual(reasons({ service: service(), slices: [slice([terminating])], node }), [
    '10.1.0.5 clusterIP: terminating, but still serving, and nothing is ready',
  ]);
  const slices = [slice([terminating, endpoint('10.1.1.1', { node: 'n2' })])];
  assert.deepEqual(reasons({ service: service({ internalTrafficPolicy: 'Local' }), slices, node }), [
    '10.1.0.5 clusterIP: terminating, and others are ready; policy Local uses it',
    '10.1.1.1 unused: ready; not on this node, which policy Local requires',
  ]);
});

test('explains that under external policy Local, remote endpoints serve clients on this node', () => {
  const spec = { type: 'NodePort', externalTrafficPolicy: 'Local', ports: [{ port: 80, nodePort: 30080 }] } as const;
  const slices = [slice([endpoint('10.1.0.1', { node: 'n1' }), endpoint('10.1.1.1', { node: 'n2' })])];
  assert.deepEqual(reasons({ service: service(spec), slices, node }), [
    '10.1.0.1 clusterIP+nodePort: ready',
    '10.1.1.1 clusterIP+near nodePort: ready; not on this node, which policy Local requires',
  ]);
});

test('explains that a failing health check excludes an endpoint from the load balancer only', () => {
  const balanced = (...unhealthy: readonly string[]): RouteInput => ({
    service: service(
      { type: 'LoadBalancer' },
      {
        ingress: [{ ip: '198.51.100.7' }],
        annotations: { 'loadbalancer.fairlead.dev/unhealthy-endpoints': unhealthy.join(',') },
      },
    ),
    slices: [slice([endpoint('10.1.0.1', { forZones: ['a'] }), endpoint('10.1.0.2', { forZones: ['b'] })])],
    node,
  });
  assert.deepEqual(reasons(balanced()), [
    "10.1.0.1 clusterIP+loadBalancer: hinted to this node's zone",
    "10.1.0.2 unused: hinted to zone b, not to this node's a",
  ]);
  assert.deepEqual(reasons(balanced('10.1.0.1:8080/TCP')), [
    "10.1.0.1 clusterIP: hinted to this node's zone; failed the health check of the load balancer",
    "10.1.0.2 loadBalancer: hinted to zone b, not to this node's a; the load balancer uses it: nearer ones do not answer it",
  ]);
  assert.deepEqual(reasons(balanced('10.1.0.1:8080/TCP', '10.1.0.2:8080/TCP')), [
    "10.1.0.1 clusterIP+loadBalancer: hinted to this node's zone; failed the health check of the load balancer, as did all other ready endpoints",
    "10.1.0.2 unused: hinted to zone b, not to this node's a; failed the health check of the load balancer, as did all other ready endpoints",
  ]);
});

test('MCS-133 explains topology keys with their cluster', () => {
  const imported = {
    metadata: {},
    spec: {
      ip: '10.128.0.5',
      ipFamily: 'IPv4' as const,
      ports: [{ port: 80 }],
      clusters: [
        { cluster: 'east', topologyKeys: ['topology.kubernetes.io/zone'] },
        { cluster: 'west', topologyKeys: ['kubernetes.io/hostname'] },
        { cluster: 'north', topologyKeys: ['topology.kubernetes.io/zone', '*'] },
        { cluster: 'south', topologyKeys: ['*'] },
      ],
    },
  };
  const slices = [
    slice([endpoint('10.2.0.1', { zone: 'a' }), endpoint('10.2.0.2', { zone: 'b' })], { cluster: 'east' }),
    slice([endpoint('10.3.0.1', { zone: 'a' })], { cluster: 'west' }),
    slice([endpoint('10.4.0.1', { zone: 'd' })], { cluster: 'north' }),
    slice([endpoint('10.5.0.1', { zone: 'd' })], { cluster: 'south' }),
  ];
  assert.deepEqual(reasons({ import: { key: 'shop/web', imported, serviceImport: undefined }, slices, node }), [
    "10.2.0.1 clusterIP: shares this node's topology.kubernetes.io/zone",
    "10.2.0.2 unused: its topology.kubernetes.io/zone is b, not this node's a",
    '10.3.0.1 unused: no topology key of cluster west matches this node',
    '10.4.0.1 unused: other clusters have endpoints that match a topology key of cluster north better',
    '10.5.0.1 clusterIP: topology key *: every endpoint',
  ]);
});

test('explains owners without routes and unused slices', () => {
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
