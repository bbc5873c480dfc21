import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Answer, TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';

const pods = '/api/v1/namespaces/default/pods';
const path = `${pods}/web/ephemeralcontainers`;

async function serverWithPod(): Promise<TestServer> {
  const server = await testServer();
  const body = { metadata: { name: 'web' }, spec: { containers: [{ name: 'c', image: 'i:1' }] } };
  assert.equal((await server.ask('POST', pods, { body })).status, 201);
  return server;
}

const patch = (server: TestServer, spec: object): Promise<Answer> =>
  server.ask('PATCH', path, { type: 'application/strategic-merge-patch+json', body: { spec } });

test('a container for debugging is added, and the rest of the Pod kept', async () => {
  await using server = await serverWithPod();
  const debug = { name: 'debug', image: 'busybox', targetContainerName: 'c' };
  const { status, body } = await patch(server, { ephemeralContainers: [debug], activeDeadlineSeconds: 5 });
  assert.equal(status, 200);
  assert.equal(body.spec.ephemeralContainers[0].name, 'debug');
  assert.equal(body.spec.activeDeadlineSeconds, undefined);
  assert.deepEqual((await server.ask('GET', path)).body.spec, body.spec);
});

test('an existing container cannot be changed or removed', async () => {
  await using server = await serverWithPod();
  await patch(server, { ephemeralContainers: [{ name: 'debug', image: 'busybox' }] });
  const changed = await patch(server, { ephemeralContainers: [{ name: 'debug', image: 'other' }] });
  assert.equal(changed.status, 422);
  assert.match(changed.body.message, /existing ephemeral containers "debug" may not be changed/);
  const removed = await patch(server, { ephemeralContainers: [{ $patch: 'delete', name: 'debug' }] });
  assert.match(removed.body.message, /existing ephemeral containers "debug" may not be removed/);
});
