import assert from 'node:assert/strict';
import { test } from 'node:test';

import { testServer } from './testing/server.ts';

const services = '/api/v1/namespaces/default/services';
const web = { metadata: { name: 'web' }, spec: { ports: [{ port: 80 }], selector: { app: 'web' } } };

test('creates a Service with an address, reads, updates and deletes it', async () => {
  await using server = await testServer();
  const created = await server.ask('POST', services, { body: web });
  assert.equal(created.status, 201);
  assert.match(created.body.spec.clusterIP, /^10\.0\.0\./);
  assert.equal(created.body.metadata.generation, undefined);

  const read = await server.ask('GET', `${services}/web`);
  assert.deepEqual(read.body, created.body);

  const changed = await server.ask('PUT', `${services}/web`, {
    body: { ...web, spec: { ...web.spec, selector: { app: 'other' } } },
  });
  assert.equal(changed.status, 200);
  assert.equal(changed.body.spec.clusterIP, created.body.spec.clusterIP);

  const deleted = await server.ask('DELETE', `${services}/web`);
  assert.equal(deleted.body.kind, 'Service');
  assert.equal((await server.ask('GET', `${services}/web`)).status, 404);
});

test('a write without changes keeps the revision and sends no event', async () => {
  await using server = await testServer();
  const { body } = await server.ask('POST', services, { body: web });
  const watch = await server.watch(`${services}?watch=1&resourceVersion=${body.metadata.resourceVersion}`);
  const again = await server.ask('PUT', `${services}/web`, { body: web });
  assert.equal(again.body.metadata.resourceVersion, body.metadata.resourceVersion);
  await server.ask('DELETE', `${services}/web`);
  const events = await watch.take(1);
  assert.deepEqual(
    events.map(({ type }) => type),
    ['DELETED'],
  );
  watch.close();
});
