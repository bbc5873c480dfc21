import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { openMemoryStore } from '../../store/memory/memory.ts';
import type { TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const merge = 'application/merge-patch+json';
const limit = 1.5 * 1024 * 1024;

/** An object with large annotations, labels and status, which have no limit of their own. */
const map = (name: string, bytes: number): object => ({
  metadata: { name, labels: {} },
  data: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, 'x'.repeat(bytes / 20)])),
});

/** Pods have no limit on the size of their spec. */
const pod = (name: string, bytes: number): object => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i', args: ['x'.repeat(bytes)] }] },
});
const pods = '/api/v1/namespaces/default/pods';

suite('an object that would be stored in more than 1.5 MiB', () => {
  test('is rejected with both sizes by every write verb', async () => {
    await using server = await testServer();
    const message = /^Request entity too large: the object would be stored in 1[67]\d{5} bytes, the limit is 1572864$/;
    const refused = async (method: string, url: string, type: string, body: unknown): Promise<void> => {
      const answer = await server.ask(method, url, { body, type });
      const { code, reason, status } = answer.body;
      assert.deepEqual([answer.status, code, reason, status], [413, 413, 'RequestEntityTooLarge', 'Failure'], method);
      assert.match(answer.body.message, message);
    };
    await refused('POST', pods, 'application/json', pod('a', 1_600_000));
    assert.equal((await server.ask('POST', pods, { body: pod('a', 10) })).status, 201);
    const annotations = { 'example.org/a': 'y'.repeat(200_000) };
    assert.equal((await server.ask('POST', pods, { body: pod('b', 1_450_000) })).status, 201);
    const patch = { metadata: { annotations } };
    await refused('PATCH', `${pods}/b`, merge, patch);
    await refused('PATCH', `${pods}/b`, 'application/strategic-merge-patch+json', patch);
    await refused('PATCH', `${pods}/b`, 'application/json-patch+json', [
      { op: 'add', path: '/metadata/annotations', value: annotations },
    ]);
    await refused('PATCH', `${pods}/b?fieldManager=m`, 'application/apply-patch+yaml', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'b', annotations },
    });
    const { body } = await server.ask('GET', `${pods}/b`);
    await refused('PUT', `${pods}/b`, 'application/json', { ...body, metadata: { ...body.metadata, annotations } });
    assert.equal((await server.ask('GET', `${pods}/b`)).body.metadata.resourceVersion, body.metadata.resourceVersion);
  });

  test('is stored without its managers when it fits without them', async () => {
    await using server = await testServer();
    // Each key of the data is also in the managed fields.
    const data = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`${i}-${'k'.repeat(90)}`, '']));
    const created = await server.ask('POST', maps, { body: { metadata: { name: 'a' }, data } });
    assert.deepEqual([created.status, created.body.metadata.managedFields], [201, undefined]);
    const small = await server.ask('POST', maps, { body: { metadata: { name: 'b' }, data: { a: 'b' } } });
    assert.equal(small.body.metadata.managedFields.length, 1);
    const grown = await server.ask('PATCH', `${maps}/b`, { type: merge, body: { data } });
    assert.deepEqual([grown.status, grown.body.metadata.managedFields], [200, undefined]);
    assert.equal((await server.ask('GET', `${maps}/b`)).body.metadata.managedFields, undefined);
  });

  test('that already exists can be read, shrunk, marked for deletion and deleted', async () => {
    await using server = await testServer();
    const { store } = server.context;
    const annotations = { 'example.org/a': 'x'.repeat(1000) };
    await server.ask('POST', pods, { body: { ...pod('large', 1000), metadata: { name: 'large', annotations } } });
    const [key, url] = ['/registry/pods/default/large', `${pods}/large`];
    const value = (await store.get(key))?.value.replace('"args":["', `"args":["${'x'.repeat(limit)}","`) ?? '';
    await store.commit([{ key, value, isDeletion: true }]); // as a release without the limit wrote it
    const patch = (metadata: object): ReturnType<TestServer['ask']> =>
      server.ask('PATCH', url, { type: merge, body: { metadata } });
    assert.equal((await server.ask('GET', url)).body.spec.containers[0].args[0].length, limit);
    assert.equal((await server.ask('GET', pods)).status, 200);
    assert.equal((await patch({ annotations: { 'example.org/b': 'y'.repeat(9000) } })).status, 413);
    const shrunk = await patch({ annotations: null, finalizers: ['example.org/a'] });
    assert.equal(shrunk.status, 200, shrunk.text.slice(0, 300));
    const deleted = await server.ask('DELETE', url);
    assert.ok(deleted.body.metadata.deletionTimestamp !== undefined, deleted.text.slice(0, 200));
    const freed = await patch({ finalizers: null });
    assert.equal(freed.status, 200, freed.text.slice(0, 300));
    assert.equal((await server.ask('GET', url)).status, 404);
  });

  test('has at most 100 managers', async () => {
    await using server = await testServer();
    const apply = (manager: number): ReturnType<TestServer['ask']> =>
      server.ask('PATCH', `${maps}/a?fieldManager=m${manager}`, {
        type: 'application/apply-patch+yaml',
        body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { [`k${manager}`]: '' } },
      });
    for (let manager = 0; manager < 100; manager++) assert.ok((await apply(manager)).status < 300);
    const refused = await apply(100);
    assert.equal(refused.status, 422);
    assert.match(refused.body.message, /metadata\.managedFields: Too many: 101: must have at most 100 items/);
    assert.equal((await apply(99)).status, 200);
    const patched = await server.ask('PATCH', `${maps}/a`, { type: merge, body: { data: { k0: 'x' } } });
    assert.equal(patched.status, 200);
  });
});

suite('a store that has reached its quota', () => {
  test('accepts reads, deletions and writes that do not grow it, and all writes once space is free', async () => {
    await using store = openMemoryStore({ quotaBytes: 2_000_000, maxValueBytes: 200_000 });
    await using server = await testServer({ store });
    let count = 0;
    for (;;) {
      const answer = await server.ask('POST', maps, { body: map(`m${count}`, 90_000) });
      if (answer.status === 201) {
        count++;
        continue;
      }
      assert.deepEqual([answer.status, answer.body.status, answer.body.reason], [500, 'Failure', undefined]);
      assert.match(answer.body.message, /^etcdserver: mvcc: database space exceeded: .*delete objects or raise/);
      break;
    }
    assert.ok(count > 10);
    const ready = await server.ask('GET', '/readyz?verbose');
    assert.equal(ready.status, 200);
    assert.match(ready.text, /\[-\]storage-quota failed: reason withheld/);
    assert.equal((await server.ask('GET', '/readyz/storage-quota')).status, 500);
    const metrics = await server.ask('GET', '/metrics');
    assert.match(metrics.text, /^fairlead_store_alarm{alarm="NOSPACE"} 1$/m);
    assert.match(metrics.text, /^etcd_server_quota_backend_bytes 2000000$/m);

    assert.equal((await server.ask('GET', maps)).body.items.length, count + 1);
    const renewed = await server.ask('PATCH', `${maps}/m0`, { type: merge, body: { data: { k0: 'y'.repeat(4500) } } });
    assert.equal(renewed.status, 200, renewed.text.slice(0, 300));
    const removed = await server.ask('PATCH', `${maps}/m1`, { type: merge, body: { data: { k0: null } } });
    assert.equal(removed.status, 200, removed.text.slice(0, 300));
    await server.ask('POST', '/api/v1/namespaces', { body: { metadata: { name: 'none' } } });
    const deletion = await server.ask('DELETE', `${maps}?labelSelector=none`);
    assert.equal(deletion.status, 200);
    for (let i = 0; i < count; i++) assert.equal((await server.ask('DELETE', `${maps}/m${i}`)).status, 200);
    await store.compact(store.revision);
    assert.equal((await server.ask('GET', '/readyz/storage-quota')).status, 200);
    assert.equal((await server.ask('POST', maps, { body: map('new', 90_000) })).status, 201);
  });

  test('can delete a namespace with its content, and objects with finalizers', async () => {
    await using store = openMemoryStore({ quotaBytes: 2_000_000, maxValueBytes: 200_000 });
    await using server = await testServer({ store });
    await server.ask('POST', '/api/v1/namespaces', { body: { metadata: { name: 'shop' } } });
    const held = { metadata: { name: 'held', finalizers: ['example.org/a'] } };
    assert.equal((await server.ask('POST', maps, { body: held })).status, 201);
    for (let i = 0, status = 201; status === 201; i++) {
      ({ status } = await server.ask('POST', maps.replace('default', 'shop'), { body: map(`m${i}`, 20_000) }));
    }
    const marked = await server.ask('DELETE', `${maps}/held`);
    assert.ok(marked.body.metadata.deletionTimestamp !== undefined, marked.text.slice(0, 300));
    const freed = await server.ask('PATCH', `${maps}/held`, { type: merge, body: { metadata: { finalizers: null } } });
    assert.equal(freed.status, 200, freed.text.slice(0, 300));
    assert.equal((await server.ask('DELETE', '/api/v1/namespaces/shop')).status, 200);
    for (const deadline = Date.now() + 20_000; ;) {
      if ((await server.ask('GET', '/api/v1/namespaces/shop')).status === 404) break;
      assert.ok(Date.now() < deadline, 'the namespace does not go');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });

  test('starts a server with incomplete bootstrap objects', async () => {
    await using store = openMemoryStore({ quotaBytes: 2_000_000, maxValueBytes: 200_000 });
    const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/view';
    {
      await using server = await testServer({ store });
      assert.equal((await server.ask('DELETE', role)).status, 200);
      await store.compact(store.revision);
      for (const bytes of [90_000, 900, 20]) {
        for (let i = 0, status = 201; status === 201; i++) {
          ({ status } = await server.ask('POST', maps, { body: map(`m${bytes}-${i}`, bytes) }));
        }
      }
    }
    await using server = await testServer({ store });
    assert.equal((await server.ask('GET', role)).status, 404);
    assert.equal((await server.ask('DELETE', `${maps}/m90000-0`)).status, 200);
  });
});
