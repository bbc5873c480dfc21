import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { InspectedOwner } from '../../proxy/inspect.ts';
import { endpoint, node, service, slice } from '../../proxy/routes/objects.fixture.ts';
import { proxyProtocolProblem } from '../../proxy/routes/proxy-protocol.ts';
import { routesOf } from '../../proxy/routes/routes.ts';
import { why } from '../../proxy/routes/why.ts';
import { lines } from './routes.ts';

test('PROXY protocol: routes that have it say so, and where it is asked for in vain there is a line', () => {
  const shown = (asked: string): string => {
    const given = service({}, { annotations: { 'proxy.fairlead.dev/proxy-protocol': asked } });
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
