import assert from 'node:assert/strict';
import { test } from 'node:test';

import { testServer } from '../testing/server.ts';
import type { TestServer } from '../testing/server.ts';
import { until } from '../testing/until.ts';
import type { Responder, ReviewRequest, TestWebhook } from '../webhooks/testing/webhook.ts';
import { startWebhook } from '../webhooks/testing/webhook.ts';

const group = 'stalled.example.com';
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const url = (plural: string, version: string): string => `/apis/${group}/${version}/namespaces/default/${plural}`;

const definition = (plural: string, { url: at, caBundle }: TestWebhook): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural, kind: plural.toUpperCase() },
    versions: ['v1', 'v2'].map((version) => ({
      name: version,
      served: true,
      storage: version === 'v1',
      schema: { openAPIV3Schema: { type: 'object' } },
    })),
    conversion: {
      strategy: 'Webhook',
      webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: at, caBundle } },
    },
  },
});

async function install(server: TestServer, plural: string, webhook: TestWebhook): Promise<void> {
  const created = await server.ask('POST', crds, { body: definition(plural, webhook) });
  assert.equal(created.status, 201, created.text);
  await until('the kind is served', async () => (await server.ask('GET', url(plural, 'v1'))).status === 200);
}

const objectOf = (plural: string, name: string): object => ({
  apiVersion: `${group}/v2`,
  kind: plural.toUpperCase(),
  metadata: { name },
});

const never: Responder = () => new Promise<object>(() => undefined);
const answers: Responder = ({ objects, desiredAPIVersion }: ReviewRequest) => ({
  result: { status: 'Success' },
  convertedObjects: objects.map((object: object) => ({ ...object, apiVersion: desiredAPIVersion })),
});

test('webhooks of several definitions that stall under many requests delay no conversion of another definition', async () => {
  await using stack = new AsyncDisposableStack();
  await using webhook = await startWebhook(answers);
  await using server = await testServer();
  const plurals = ['as', 'bs', 'cs', 'ds', 'es'];
  const stalled: TestWebhook[] = [];
  for (const plural of plurals) {
    const each = stack.use(await startWebhook(never));
    await install(server, plural, each);
    stalled.push(each);
  }
  const calls = (): number => stalled.reduce((sum, { requests }) => sum + requests.length, 0);
  await install(server, 'others', webhook);
  let answered = 0;
  for (const plural of plurals) {
    for (let index = 0; index < 100; index++) {
      const body = objectOf(plural, `a${index}`);
      const count = (): unknown => answered++;
      void server.ask('POST', url(plural, 'v2'), { body }).then(count, count); // until the server closes
    }
  }
  await until('each of them has calls', async () => calls() >= 150);
  const written = await server.ask('POST', url('others', 'v2'), { body: objectOf('others', 'a') });
  assert.equal(written.status, 201, written.text);
  assert.equal((await server.ask('GET', url('others', 'v2'))).body.items.length, 1);
  assert.equal((await server.ask('GET', '/api/v1/configmaps')).status, 200);
  assert.equal(answered, 0, 'the others still wait');
  assert.ok(calls() < 256, `${calls()} calls`);
});

test('a user whose requests wait for a webhook that stalls delays no requests of other users', async () => {
  await using stalled = await startWebhook(never);
  await using server = await testServer();
  await install(server, 'as', stalled);
  const binding = {
    metadata: { name: 'everything' },
    subjects: ['slow', 'other'].map((name) => ({ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' })),
    roleRef: { kind: 'ClusterRole', name: 'cluster-admin', apiGroup: 'rbac.authorization.k8s.io' },
  };
  const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
  assert.equal((await server.ask('POST', bindings, { body: binding })).status, 201);
  const [slow, other] = [server.as({ name: 'slow' }), server.as({ name: 'other' })];
  for (let index = 0; index < 300; index++) {
    void slow.ask('POST', url('as', 'v2'), { body: objectOf('as', `a${index}`) }).catch(() => undefined);
  }
  await until('the webhook has calls', async () => stalled.requests.length >= 20);
  for (let index = 0; index < 50; index++) {
    const body = { metadata: { name: `a${index}` } };
    const { status } = await other.ask('POST', '/api/v1/namespaces/default/configmaps', { body });
    assert.equal(status, 201);
    assert.equal((await other.ask('GET', url('as', 'v1'))).status, 200, 'the storage version needs no webhook');
  }
});
