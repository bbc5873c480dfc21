import assert from 'node:assert/strict';
import { test } from 'node:test';

import { testServer } from '../testing/server.ts';

const pathOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/services`;

/** Every value that is allocated to one Service only. */
const taken = {
  clusterIP: { clusterIP: '10.0.0.10' },
  'a node port': { type: 'NodePort', ports: [{ port: 80, nodePort: 30080 }] },
  'a health check node port': {
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: 30081,
  },
};

for (const [what, spec] of Object.entries(taken)) {
  test(`an error about ${what} in use does not name the Service of another namespace`, async () => {
    await using server = await testServer();
    await server.ask('POST', '/api/v1/namespaces', { body: { metadata: { name: 'apart' } } });
    const body = (name: string): object => ({ metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } });
    const first = await server.ask('POST', pathOf('apart'), { body: body('secret-name') });
    assert.equal(first.status, 201, first.text);
    const refused = await server.ask('POST', pathOf('default'), { body: body('web') });
    assert.ok(refused.status >= 400, refused.text);
    assert.match(refused.text, /already allocated/);
    assert.doesNotMatch(refused.text, /apart|secret/);
    const free = await server.ask('POST', pathOf('default'), {
      body: { metadata: { name: 'web' }, spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } },
    });
    assert.equal(free.status, 201, free.text);
    const moved = await server.ask('PATCH', `${pathOf('default')}/web`, {
      type: 'application/merge-patch+json',
      body: { spec },
    });
    assert.ok(moved.status >= 400, moved.text);
    assert.doesNotMatch(moved.text, /apart|secret/);
  });
}
