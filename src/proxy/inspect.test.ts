import assert from 'node:assert/strict';
import { test } from 'node:test';

import { testServer } from '../server/testing/server.ts';
import { inspect } from './inspect.ts';
import { conflictProblems } from './routes/conflict.ts';
import { routeKey } from './routes/route.ts';
import { clientOf, core, discovery, post, service, slice, web } from './testing/running.ts';

test('returns the routes with their reasons', async () => {
  await using server = await testServer();
  await post(server, `${core}/services`, service('web', '10.0.0.10'));
  await post(server, `${core}/services`, service('names', 'None'));
  await post(server, discovery, slice('web-1', ['10.1.0.1'], web));
  const { owners, conflicts } = await inspect(
    clientOf(server),
    { nodeName: 'n1', mode: 'nftables' },
    { namespace: 'default' },
  );
  assert.deepEqual(conflicts, []);
  const found = owners.find(({ owner }) => owner === 'Service default/web');
  assert.deepEqual(found?.routes.map(routeKey), ['10.0.0.10 TCP 80']);
  assert.deepEqual(
    found?.explanation.endpoints.map(({ address, reason }) => `${address}: ${reason}`),
    ['10.1.0.1: ready'],
  );
  const headless = owners.find(({ owner }) => owner === 'Service default/names');
  assert.match(headless?.explanation.unrouted ?? '', /headless/);
});

test('does not list an address of a Service in another namespace as routed to a claimant', async () => {
  await using server = await testServer();
  await post(server, '/api/v1/namespaces', { metadata: { name: 'other' } });
  await post(server, `${core}/services`, service('web', '10.0.0.10', { externalIPs: ['192.0.2.80'] }));
  const spec = { type: 'LoadBalancer', ports: [{ port: 80 }] };
  await post(server, '/api/v1/namespaces/other/services', { metadata: { name: 'shop' }, spec });
  const answer = await server.ask('PATCH', '/api/v1/namespaces/other/services/shop/status', {
    type: 'application/merge-patch+json',
    body: { status: { loadBalancer: { ingress: [{ ip: '192.0.2.80' }] } } },
  });
  assert.equal(answer.status, 200, answer.text);
  const options = { nodeName: 'n1', mode: 'nftables' } as const;
  const { owners, conflicts } = await inspect(clientOf(server), options, { namespace: 'default' });
  assert.ok(owners.every(({ owner }) => owner.includes(' default/')));
  const web = owners.find(({ owner }) => owner === 'Service default/web');
  assert.deepEqual(web?.routes.map(routeKey), ['10.0.0.10 TCP 80']);
  assert.deepEqual(
    conflictProblems(conflicts).map(({ fullText }) => fullText),
    [
      'Service default/web does not get 192.0.2.80:80/TCP: 192.0.2.80 is the load balancer address of Service other/shop',
    ],
  );
});
