import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { InspectedOwner } from '../../proxy/inspect.ts';
import { endpoint, node, service, slice } from '../../proxy/routes/testing/objects.ts';
import { proxyProtocolProblem } from '../../proxy/routes/proxy-protocol.ts';
import { routesOf } from '../../proxy/routes/routes.ts';
import { why } from '../../proxy/routes/why.ts';
import { lines } from './routes.ts';

test('lists the addresses at which an endpoint is used, unless it is all of them', () => {
  const spec = {
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    ports: [{ port: 80, nodePort: 30080 }],
  } as const;
  const annotations = { 'loadbalancer.fairlead.dev/unhealthy-endpoints': '10.1.0.1:8080/TCP' };
  const input = {
    service: service(spec, { annotations, ingress: [{ ip: '198.51.100.7' }] }),
    slices: [
      slice([
        endpoint('10.1.0.1', { node: 'n1' }),
        endpoint('10.1.0.2', { node: 'n1' }),
        endpoint('10.1.1.1', { node: 'n2' }),
        endpoint('10.1.1.2', { state: 'not-ready' }),
      ]),
    ],
    node,
  };
  const owner = { owner: 'Service shop/web', routes: routesOf(input), problems: [], explanation: why(input) };
  assert.deepEqual(lines({ owners: [owner], conflicts: [] }, 'n1').slice(-4), [
    '    partly    10.1.0.1:8080/TCP  -    at clusterIP, nodePort; ready; failed the health check of the load balancer',
    '    used      10.1.0.2:8080/TCP  -    ready',
    '    partly    10.1.1.1:8080/TCP  -    at clusterIP; from this node at loadBalancer, nodePort; ready; not on this node, which policy Local requires',
    '    not used  10.1.1.2:8080/TCP  -    not ready',
  ]);
});

test('lists the PROXY protocol of routes, and annotations for it that are not honored', () => {
  const shown = (annotation: string): string => {
    const given = service({}, { annotations: { 'proxy.fairlead.dev/proxy-protocol': annotation } });
    const input = { service: given, slices: [slice([endpoint('10.1.0.1')])], node };
    const routes = routesOf(input);
    const problem = proxyProtocolProblem(given, routes);
    const owner: InspectedOwner = {
      owner: 'Service shop/web',
      routes,
      problems: problem === undefined ? [] : [problem.text],
      explanation: why(input),
    };
    return lines({ owners: [owner], conflicts: [] }, 'n1').join('\n');
  };
  assert.equal(
    shown('v2'),
    `Service shop/web
  10.96.0.10:80/TCP  clusterIP  → 10.1.0.1:8080; PROXY protocol v2
    used  10.1.0.1:8080/TCP  -    ready`,
  );
  assert.equal(
    shown('v3'),
    `Service shop/web
  10.96.0.10:80/TCP  clusterIP  → 10.1.0.1:8080
  Service shop/web: proxy.fairlead.dev/proxy-protocol is "v3", and ignored: set it to v1 or v2, or remove it
    used  10.1.0.1:8080/TCP  -    ready`,
  );
});
