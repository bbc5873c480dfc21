import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMapKind } from '../api/kinds/core/configmap/kind.ts';
import type { Service } from '../api/kinds/core/service/schema.ts';
import { serviceKind } from '../api/kinds/core/service/kind.ts';
import { nodeKind } from '../api/kinds/core/node/kind.ts';
import { testServer } from '../server/testing/server.ts';
import { Client } from './client.ts';
import { inProcess } from './in-process.ts';
import type { ApiRequest, Transport } from './transport.ts';
import { StatusError } from '../api/errors.ts';
import { hasStatusCode } from './transport.ts';

const user = { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] };
const names = { namespace: 'default', name: 'a' };

test('creates, reads, updates, patches, applies and deletes an object', async () => {
  await using server = await testServer();
  using client = new Client(inProcess((request) => server.handle({ ...request, user })));
  const made = await client.create(configMapKind, { metadata: names, data: { a: '1' } });
  assert.equal(made.kind, 'ConfigMap');
  assert.deepEqual((await client.get(configMapKind, names)).data, { a: '1' });

  const updated = await client.update(configMapKind, { ...made, data: { a: '2' } });
  await assert.rejects(client.update(configMapKind, { ...made, data: { a: '3' } }), (error) =>
    hasStatusCode(error, 409),
  );
  assert.deepEqual(updated.data, { a: '2' });
  const patched = await client.patch(configMapKind, names, { body: { data: { b: '3' } } });
  assert.deepEqual(patched.data, { a: '2', b: '3' });
  const applied = await client.apply(configMapKind, { metadata: names, data: { a: '9' } });
  assert.deepEqual(applied.data, { a: '9', b: '3' });
  await assert.rejects(
    client.create(configMapKind, { metadata: names }),
    (error) => error instanceof StatusError && error.status.reason === 'AlreadyExists',
  );

  await client.delete(configMapKind, names);
  await client.delete(configMapKind, names);
  assert.equal(await client.find(configMapKind, names), undefined);
});

test('writes the status through its subresource', async () => {
  await using server = await testServer();
  using client = new Client(inProcess((request) => server.handle({ ...request, user })));
  const spec = { type: 'LoadBalancer', ports: [{ port: 80 }] } as const;
  const made = await client.create(serviceKind, { metadata: names, spec, status: { loadBalancer: {} } } as Service);
  const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } };
  await client.update(serviceKind, { ...made, status });
  assert.equal((await client.get(serviceKind, names)).status.loadBalancer.ingress, undefined);
  const written = await client.updateStatus(serviceKind, { ...made, status });
  assert.equal(written.status.loadBalancer.ingress?.[0]?.ip, '192.0.2.1');
});

test('a list reads all pages and adds the kind to its items', async () => {
  await using server = await testServer();
  using client = new Client(inProcess((request) => server.handle({ ...request, user })));
  for (const name of ['a', 'b', 'c']) await client.create(configMapKind, { metadata: { name, namespace: 'default' } });
  const list = await client.list(configMapKind, {
    namespace: 'default',
    pageSize: 1,
    fieldSelector: 'metadata.name!=b',
  });
  assert.deepEqual(
    list.items.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
    ['ConfigMap a', 'ConfigMap c', 'ConfigMap kube-root-ca.crt'],
  );
  assert.match(list.resourceVersion, /^[1-9]\d*$/);
});

test('reads a list in one request after its continue token expired', async () => {
  const requests: string[] = [];
  const answers = [
    { status: 200, body: { metadata: { resourceVersion: '1', continue: 'x' }, items: [{ metadata: { name: 'a' } }] } },
    { status: 410, body: { kind: 'Status', reason: 'Expired', code: 410 } },
    { status: 200, body: { metadata: { resourceVersion: '9' }, items: [{ metadata: { name: 'b' } }] } },
  ];
  const client = new Client(
    scripted((call) => {
      requests.push(JSON.stringify(call.query));
      return answers.shift() ?? { status: 500, body: {} };
    }),
  );
  const list = await client.list(serviceKind);
  assert.equal(list.resourceVersion, '9');
  assert.deepEqual(
    list.items.map(({ metadata }) => metadata.name),
    ['b'],
  );
  assert.deepEqual(requests, ['{"limit":500}', '{"limit":500,"continue":"x"}', '{}']);
});

test('a watch yields events and throws the StatusError of a rejected request', async () => {
  await using server = await testServer();
  using client = new Client(inProcess((request) => server.handle({ ...request, user })));
  const stop = new AbortController();
  await client.create(configMapKind, { metadata: names });
  const seen: string[] = [];
  const options = { namespace: 'default', resourceVersion: '', sendInitialEvents: true, signal: stop.signal };
  for await (const { type, object } of client.watch(configMapKind, options)) {
    seen.push(`${type} ${object.metadata.name ?? ''}`);
    if (type === 'BOOKMARK') break;
  }
  assert.deepEqual(seen, ['ADDED a', 'ADDED kube-root-ca.crt', 'BOOKMARK ']);

  const refused = client.watch(configMapKind, { resourceVersion: 'x' });
  await assert.rejects(refused.next(), (error) => hasStatusCode(error, 400));

  const silent = client.watch(configMapKind, { ...options, sendInitialEvents: false });
  const next = silent.next();
  stop.abort(new Error('enough'));
  await assert.rejects(next, { message: 'enough' });
});

test('converts an error response without a Status into a StatusError', async () => {
  const client = new Client({
    ...scripted(() => ({ status: 500, body: {} })),
    request: async () => ({ status: 429, headers: { 'retry-after': '3' }, body: 'Too many requests\n' }),
  });
  await assert.rejects(client.get(nodeKind, { name: 'n' }), {
    code: 'STATUS',
    status: {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Too many requests',
      reason: 'TooManyRequests',
      details: { retryAfterSeconds: 3 },
      code: 429,
    },
  });
});

function scripted(answer: (call: ApiRequest) => { readonly status: number; readonly body: unknown }): Transport {
  return {
    request: async (call) => {
      const { status, body } = answer(call);
      return { status, headers: {}, body: JSON.stringify(body) };
    },
    stream: () => assert.fail('no stream was expected'),
    [Symbol.dispose]: () => {},
  };
}
