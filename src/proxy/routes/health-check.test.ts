import assert from 'node:assert/strict';
import { test } from 'node:test';

import { healthCheckOf } from './health-check.ts';
import { endpoint, node, service, slice } from './testing/objects.ts';

test('counts the ready endpoints on this node once each', () => {
  const given = service({
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: 31000,
    ports: [
      { name: 'a', port: 80 },
      { name: 'b', port: 81 },
    ],
  });
  const ports = [
    { name: 'a', port: 8080 },
    { name: 'b', port: 8081 },
  ];
  const endpoints = [
    endpoint('10.1.0.1', { node: 'n1' }),
    endpoint('10.1.1.1', { node: 'n2' }),
    endpoint('10.1.0.2', { node: 'n1', state: 'terminating' }),
  ];
  const slices = [slice(endpoints, { ports })];
  assert.deepEqual(healthCheckOf({ service: given, slices, node }), {
    owner: 'Service shop/web',
    namespace: 'shop',
    name: 'web',
    port: 31000,
    localEndpoints: 1,
  });
  assert.equal(healthCheckOf({ service: service(), slices, node }), undefined);
});
