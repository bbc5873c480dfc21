import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { openMemoryStore } from '../../store/memory/memory.ts';
import type { TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';

const services = '/api/v1/namespaces/default/services';
const endpoints = '/api/v1/namespaces/default/endpoints';
const merge = 'application/merge-patch+json';

const nodePort = (name: string, spec: object = {}): object => ({
  metadata: { name },
  spec: { type: 'NodePort', ports: [{ port: 80 }], ...spec },
});

/** Keys of allocated addresses and ports, without those of the Service kubernetes. */
async function claims({ context: { store } }: TestServer): Promise<string[]> {
  const [addresses, ports] = [
    await store.range('/registry/networking.k8s.io/ipaddresses/'),
    await store.range('/registry/nodeports/'),
  ];
  return [...addresses.entries, ...ports.entries]
    .map(({ key }) => key.slice(key.lastIndexOf('/') + 1))
    .filter((name) => name !== '10.0.0.1');
}

suite('addresses and ports', () => {
  test('are allocated and released with a Service, and its Endpoints are deleted with it', async () => {
    await using server = await testServer();
    const { body } = await server.ask('POST', services, { body: nodePort('a') });
    assert.deepEqual(await claims(server), [body.spec.clusterIP, String(body.spec.ports[0].nodePort)]);
    await server.ask('POST', endpoints, { body: { metadata: { name: 'a' } } });
    await server.ask('DELETE', `${services}/a`);
    assert.deepEqual(await claims(server), []);
    assert.equal((await server.ask('GET', `${endpoints}/a`)).status, 404);
  });

  test('are released when the last finalizer of the Service is removed', async () => {
    await using server = await testServer();
    await server.ask('POST', services, {
      body: { ...nodePort('a'), metadata: { name: 'a', finalizers: ['service.kubernetes.io/load-balancer-cleanup'] } },
    });
    await server.ask('POST', endpoints, { body: { metadata: { name: 'a' } } });
    await server.ask('DELETE', `${services}/a`);
    assert.equal((await claims(server)).length, 2);
    assert.equal((await server.ask('GET', `${endpoints}/a`)).status, 200);
    await server.ask('PATCH', `${services}/a`, { type: merge, body: { metadata: { finalizers: null } } });
    assert.equal((await server.ask('GET', `${services}/a`)).status, 404);
    assert.deepEqual(await claims(server), []);
    assert.equal((await server.ask('GET', `${endpoints}/a`)).status, 404);
  });

  test('are released when a Service is rejected, exists already, or no longer uses them', async () => {
    await using server = await testServer();
    const available = (): number => server.context.allocator.metrics().clusterIps[0]?.available ?? 0;
    const before = available();
    const bad = await server.ask('POST', services, { body: nodePort('Bad_Name') });
    assert.equal(bad.status, 422);
    await server.ask('POST', services, { body: nodePort('a') });
    const taken = await server.ask('POST', services, { body: nodePort('a') });
    assert.equal(taken.status, 409);
    assert.equal(available(), before - 1);
    const named = { type: 'ExternalName', externalName: 'example.org', clusterIP: '', clusterIPs: null, ports: null };
    const { status, text } = await server.ask('PATCH', `${services}/a`, { type: merge, body: { spec: named } });
    assert.equal(status, 200, text);
    assert.equal(available(), before);
    assert.deepEqual(await claims(server), []);
  });

  test('of another Service are rejected before the name is checked', async () => {
    await using server = await testServer();
    const { body } = await server.ask('POST', services, { body: nodePort('a') });
    const { clusterIP } = body.spec;
    const { status, body: failure } = await server.ask('POST', services, { body: nodePort('a', { clusterIP }) });
    assert.equal(status, 422);
    assert.match(failure.message, /spec\.clusterIPs: Invalid value: .*: failed to allocate IP .*already allocated/);
  });
});

suite('a dry run', () => {
  test('returns the same result and leaves no object, claim, event or revision', async () => {
    await using server = await testServer();
    await server.ask('POST', services, { body: nodePort('old') });
    const before = { revision: server.context.store.revision, claims: await claims(server) };
    const watch = await server.watch(`${services}?watch=1&resourceVersion=${before.revision}`);
    const created = await server.ask('POST', `${services}?dryRun=All`, { body: nodePort('new') });
    assert.equal(created.status, 201, created.text);
    assert.match(created.body.metadata.uid, /-/);
    assert.equal(created.body.metadata.resourceVersion, undefined);
    assert.notEqual(created.body.spec.clusterIP, undefined);
    const changed = await server.ask('PATCH', `${services}/old?dryRun=All`, {
      type: merge,
      body: { spec: { type: 'ClusterIP' }, metadata: { labels: { k: 'v' } } },
    });
    assert.equal(changed.status, 200);
    assert.deepEqual(changed.body.metadata.labels, { k: 'v' });
    assert.equal((await server.ask('DELETE', `${services}/old?dryRun=All`)).status, 200);
    assert.equal((await server.ask('DELETE', `${services}/old`, { body: { dryRun: ['All'] } })).status, 200);
    assert.equal((await server.ask('POST', `${services}?dryRun=All`, { body: nodePort('old') })).status, 409);
    assert.deepEqual({ revision: server.context.store.revision, claims: await claims(server) }, before);
    await server.ask('DELETE', `${services}/old`);
    const [event] = await watch.take(1);
    assert.equal(event?.type, 'DELETED');
    assert.equal(event.object.metadata.labels, undefined);
    watch.close();
  });
});

suite('two servers over one store', () => {
  test('read each other’s writes and never allocate an address twice', async () => {
    await using store = openMemoryStore();
    await using one = await testServer({ store });
    await using two = await testServer({ store });
    const create = (server: TestServer, name: string): Promise<{ body: { spec: { clusterIP: string } } }> =>
      server.ask('POST', services, { body: nodePort(name) });
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => create(index % 2 === 0 ? one : two, `s${index}`)),
    );
    const addresses = answers.map(({ body }) => body.spec.clusterIP);
    assert.equal(new Set(addresses).size, 60);
    for (const server of [one, two]) assert.equal((await server.ask('GET', services)).body.items.length, 61);
    const watch = await two.watch(`${services}?watch=1&resourceVersion=${two.context.watchCache.revision}`);
    await one.ask('DELETE', `${services}/s0`);
    assert.equal((await watch.take(1))[0]?.type, 'DELETED');
    assert.equal((await two.ask('GET', `${services}/s0`)).status, 404);
    watch.close();
  });

  test('let only one create a name or win a race for an update', async () => {
    await using store = openMemoryStore();
    await using one = await testServer({ store });
    await using two = await testServer({ store });
    const codes = async (answers: readonly Promise<{ status: number }>[]): Promise<number[]> =>
      (await Promise.all(answers)).map(({ status }) => status).toSorted((a, b) => a - b);
    const both = [one, two];
    assert.deepEqual(
      await codes(both.map((server) => server.ask('POST', services, { body: nodePort('a') }))),
      [201, 409],
    );
    const { body } = await one.ask('GET', `${services}/a`);
    const changed = both.map((server, index) =>
      server.ask('PUT', `${services}/a`, { body: { ...body, spec: { ...body.spec, selector: { app: `${index}` } } } }),
    );
    assert.deepEqual(await codes(changed), [200, 409]);
    assert.deepEqual(await codes(both.map((server) => server.ask('DELETE', `${services}/a`))), [200, 404]);
    assert.deepEqual(await claims(one), []);
  });
});
