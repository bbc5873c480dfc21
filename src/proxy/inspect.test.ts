import assert from 'node:assert/strict';
import { test } from 'node:test';

import { testServer } from '../server/testing/server.ts';
import { inspect } from './inspect.ts';
import { routeKey } from './routes/route.ts';
import { clientOf, core, discovery, post, service, slice, web } from './running.fixture.ts';

test('what would be routed can be asked for, with why', async () => {
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
