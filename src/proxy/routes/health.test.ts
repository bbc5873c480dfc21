import assert from 'node:assert/strict';
import { test } from 'node:test';

import { actionText, endpoint, node, service, slice } from './testing/objects.ts';
import { routesOf } from './routes.ts';

test('excludes endpoints with failing health checks from traffic of load balancers, unless all fail', () => {
  const used = (unhealthy: string): readonly string[] => {
    const annotations = { 'loadbalancer.fairlead.dev/unhealthy-endpoints': unhealthy };
    const given = service({ type: 'LoadBalancer' }, { ingress: [{ ip: '203.0.113.5' }], annotations });
    const slices = [slice([endpoint('10.1.0.1'), endpoint('10.1.1.1')])];
    return routesOf({ service: given, slices, node }).map(({ kind, action }) => `${kind} ${actionText(action)}`);
  };
  const cluster = 'clusterIP 10.1.0.1:8080 10.1.1.1:8080';
  const all = 'loadBalancer 10.1.0.1:8080 10.1.1.1:8080';
  assert.deepEqual(used('10.1.0.1:8080/TCP,192.0.2.1:80/TCP'), [cluster, 'loadBalancer 10.1.1.1:8080']);
  assert.deepEqual(used('10.1.0.1:8080/UDP'), [cluster, all]);
  assert.deepEqual(used('10.1.0.1:8080/TCP,10.1.1.1:8080/TCP'), [cluster, all]);
});
