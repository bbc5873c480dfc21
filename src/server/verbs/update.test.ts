import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { configMapKind } from '../../api/kinds/core/configmap/kind.ts';
import { openMemoryStore } from '../../store/memory/memory.ts';
import type { TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';

const inDefault = (groupVersion: string, resource: string): string =>
  `/${groupVersion.includes('/') ? 'apis' : 'api'}/${groupVersion}/namespaces/default/${resource}`;
const maps = inDefault('v1', 'configmaps');
const services = inDefault('v1', 'services');
const slices = inDefault('discovery.k8s.io/v1', 'endpointslices');
const merge = 'application/merge-patch+json';

const service = (name: string, spec: object = {}): object => ({
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...spec },
});

suite('PUT of an object that does not exist', () => {
  const exported = { apiVersion: 'multicluster.x-k8s.io/v1beta1', kind: 'ServiceExport' };
  const table: readonly [url: string, content: object, status: 201 | 404][] = [
    [services, { spec: { ports: [{ port: 80 }] } }, 201],
    [inDefault('v1', 'endpoints'), {}, 201],
    [inDefault('v1', 'events'), { involvedObject: { namespace: 'default' } }, 201],
    [inDefault('coordination.k8s.io/v1', 'leases'), {}, 201],
    [maps, {}, 404],
    [inDefault('v1', 'secrets'), {}, 404],
    [inDefault('v1', 'serviceaccounts'), {}, 404],
    [inDefault('v1', 'pods'), { spec: { containers: [{ name: 'a', image: 'a' }] } }, 404],
    [slices, { addressType: 'IPv4' }, 404],
    [inDefault('networking.k8s.io/v1', 'ingresses'), {}, 404],
    ['/apis/networking.k8s.io/v1/ingressclasses', {}, 404],
    ['/api/v1/namespaces', {}, 404],
    ['/api/v1/nodes', {}, 404],
    [inDefault('multicluster.x-k8s.io/v1beta1', 'serviceexports'), exported, 404],
  ];
  test('creates objects of some kinds only', async () => {
    await using server = await testServer();
    for (const [url, content, status] of table) {
      const body = { metadata: { name: 'new' }, ...content };
      assert.equal((await server.ask('PUT', `${url}/new`, { body })).status, status, url);
    }
  });

  test('ignores a revision, and rejects a UID, which refers to a deleted object', async () => {
    await using server = await testServer();
    const put = (metadata: object): ReturnType<TestServer['ask']> =>
      server.ask('PUT', `${services}/a`, { body: { ...service('a'), metadata: { name: 'a', ...metadata } } });
    const gone = await put({ uid: 'old' });
    assert.equal(gone.status, 409);
    assert.match(gone.body.message, /UID in precondition: old, UID in object meta: $/);
    assert.equal((await put({ resourceVersion: '5' })).status, 201);
  });

  test('to /status creates the object without the status', async () => {
    await using server = await testServer();
    const body = { ...service('a'), status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } };
    const { status, body: created } = await server.ask('PUT', `${services}/a/status`, { body });
    assert.deepEqual([status, created.status], [201, { loadBalancer: {} }]);
  });

  test('in an unknown namespace is a 404 of the namespace if the object would be created, else of the object', async () => {
    await using server = await testServer();
    const absent = await server.ask('PUT', '/api/v1/namespaces/absent/services/a', { body: service('a') });
    assert.equal(absent.body.message, 'namespaces "absent" not found');
    const patched = await server.ask('PATCH', '/api/v1/namespaces/absent/configmaps/a', { type: merge, body: {} });
    assert.equal(patched.body.message, 'configmaps "a" not found');
  });
});

suite('preconditions', () => {
  const refusedAs = async (
    server: TestServer,
    url: string,
    body: object,
  ): Promise<{ readonly status: number; readonly message: string }> => {
    const answer = await server.ask('PUT', url, { body });
    return { status: answer.status, message: answer.body.message };
  };

  test('name and namespace must match the URL', async () => {
    await using server = await testServer();
    await server.ask('POST', maps, { body: { metadata: { name: 'a' } } });
    const table: readonly [metadata: object, message: string][] = [
      [{ name: 'b' }, 'the name of the object (b) does not match the name on the URL (a)'],
      [{}, 'the name of the object (a based on URL) was undeterminable: name must be provided'],
      [
        { name: 'a', namespace: 'x' },
        'the namespace of the provided object does not match the namespace sent on the request',
      ],
    ];
    for (const [metadata, message] of table) {
      assert.deepEqual(await refusedAs(server, `${maps}/a`, { metadata }), { status: 400, message });
    }
  });

  test('an old revision is a conflict, and so is another UID', async () => {
    await using server = await testServer();
    const { body } = await server.ask('POST', maps, { body: { metadata: { name: 'a' } } });
    await server.ask('PUT', `${maps}/a`, { body: { metadata: { name: 'a' }, data: { k: 'v' } } });
    const { resourceVersion } = body.metadata;
    const stale = await server.ask('PUT', `${maps}/a`, { body: { metadata: { name: 'a', resourceVersion } } });
    assert.deepEqual(stale.body, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message:
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
      reason: 'Conflict',
      details: { name: 'a', kind: 'configmaps' },
      code: 409,
    });
    const other = await server.ask('PUT', `${maps}/a`, { body: { metadata: { name: 'a', uid: 'other' } } });
    assert.equal(other.status, 409);
    assert.ok(
      other.body.message.endsWith(
        `Precondition failed: UID in precondition: other, UID in object meta: ${body.metadata.uid}`,
      ),
    );
  });

  test('some kinds require a revision', async () => {
    await using server = await testServer();
    const exported = { apiVersion: 'multicluster.x-k8s.io/v1beta1', kind: 'ServiceExport', metadata: { name: 'a' } };
    const table: readonly [url: string, body: object, resource: string][] = [
      [inDefault('coordination.k8s.io/v1', 'leases'), { metadata: { name: 'a' } }, 'leases.coordination.k8s.io'],
      [inDefault('multicluster.x-k8s.io/v1beta1', 'serviceexports'), exported, 'serviceexports.multicluster.x-k8s.io'],
    ];
    for (const [url, body, resource] of table) {
      await server.ask('POST', url, { body });
      assert.deepEqual(await refusedAs(server, `${url}/a`, body), {
        status: 422,
        message: `${resource} "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`,
      });
    }
  });

  test('one of two updates of the same revision succeeds', async () => {
    await using server = await testServer();
    const { body } = await server.ask('POST', maps, { body: { metadata: { name: 'a' } } });
    const { resourceVersion } = body.metadata;
    const writers = ['one', 'two', 'three'].map((k) =>
      server.ask('PUT', `${maps}/a`, { body: { metadata: { name: 'a', resourceVersion }, data: { k } } }),
    );
    const codes = (await Promise.all(writers)).map(({ status }) => status);
    assert.deepEqual(
      codes.toSorted((a, b) => a - b),
      [200, 409, 409],
    );
  });

  test('updates without a revision never conflict', async () => {
    await using server = await testServer();
    await server.ask('POST', maps, { body: { metadata: { name: 'a' } } });
    const patches = Array.from({ length: 20 }, (_, index) =>
      server.ask('PATCH', `${maps}/a`, { type: merge, body: { data: { [`k${index}`]: 'v' } } }),
    );
    for (const { status } of await Promise.all(patches)) assert.equal(status, 200);
    assert.equal(Object.keys((await server.ask('GET', `${maps}/a`)).body.data).length, 20);
  });
});

suite('fields that an update keeps', () => {
  test('keeps the identity, whatever the client sends', async () => {
    await using server = await testServer();
    const { body } = await server.ask('POST', slices, { body: { metadata: { name: 'a' }, addressType: 'IPv4' } });
    const sent = {
      creationTimestamp: '2001-01-01T00:00:00Z',
      generation: 99,
    };
    const { body: next } = await server.ask('PUT', `${slices}/a`, {
      body: { metadata: { name: 'a', annotations: { k: 'v' }, ...sent }, addressType: 'IPv4' },
    });
    const { uid, creationTimestamp, generation } = body.metadata;
    assert.deepEqual(
      [next.metadata.uid, next.metadata.creationTimestamp, next.metadata.generation],
      [uid, creationTimestamp, generation],
    );
  });

  test('does not mark an object for deletion', async () => {
    await using server = await testServer();
    await server.ask('POST', maps, { body: { metadata: { name: 'a' } } });
    const metadata = { name: 'a', deletionTimestamp: '2001-01-01T00:00:00Z', deletionGracePeriodSeconds: 3 };
    const { status, body } = await server.ask('PUT', `${maps}/a`, { body: { metadata } });
    assert.equal(status, 422);
    assert.equal(
      body.message,
      'ConfigMap "a" is invalid: [metadata.deletionTimestamp: Invalid value: "2001-01-01T00:00:00Z": field is immutable, ' +
        'metadata.deletionGracePeriodSeconds: Invalid value: 3: field is immutable]',
    );
  });

  test('writes nothing if only the times of managers change', async () => {
    await using server = await testServer();
    const context = server.context as { clock: () => number };
    const body = { metadata: { name: 'a', labels: { x: 'y' } }, data: { k: 'v' } };
    const created = await server.ask('POST', `${maps}?fieldManager=me`, { body });
    const { resourceVersion } = created.body.metadata;
    const before = server.context.watchCache.revision;
    context.clock = () => Date.now() + 3_600_000;
    const again: readonly [method: string, ask: { body: object; type?: string }][] = [
      ['PUT', { body }],
      ['PATCH', { body: { data: { k: 'v' } }, type: merge }],
      ['PATCH', { body: [{ op: 'replace', path: '/data/k', value: 'v' }], type: 'application/json-patch+json' }],
      ['PATCH', { body: {}, type: 'application/strategic-merge-patch+json' }],
    ];
    for (const [method, ask] of again) {
      const { status, body: next } = await server.ask(method, `${maps}/a?fieldManager=me`, ask);
      assert.equal(status, 200);
      assert.equal(next.metadata.resourceVersion, resourceVersion, ask.type ?? method);
    }
    const apply = { type: 'application/apply-patch+yaml', body: { apiVersion: 'v1', kind: 'ConfigMap', ...body } };
    const applied = await server.ask('PATCH', `${maps}/a?fieldManager=you`, apply);
    context.clock = () => Date.now() + 7_200_000;
    const twice = await server.ask('PATCH', `${maps}/a?fieldManager=you`, apply);
    assert.equal(twice.body.metadata.resourceVersion, applied.body.metadata.resourceVersion);
    assert.equal(server.context.watchCache.revision, before + 1, 'only the first apply wrote: it took ownership');
  });

  test('increments the generation for the changes that the kind counts', async () => {
    await using server = await testServer();
    const classes = '/apis/networking.k8s.io/v1/ingressclasses';
    await server.ask('POST', slices, { body: { metadata: { name: 'a' }, addressType: 'IPv4' } });
    await server.ask('POST', classes, { body: { metadata: { name: 'a' }, spec: { controller: 'example.org/a' } } });
    const table: readonly [url: string, patch: object, want: number][] = [
      [`${slices}/a`, { metadata: { annotations: { k: 'v' } } }, 1],
      [`${slices}/a`, { metadata: { labels: { k: 'v' } } }, 2],
      [`${slices}/a`, { endpoints: [{ addresses: ['10.1.0.1'] }] }, 3],
      [`${slices}/a`, { endpoints: [{ addresses: ['10.1.0.1'] }] }, 3],
      [`${classes}/a`, { metadata: { labels: { k: 'v' } } }, 1],
      [`${classes}/a`, { spec: { parameters: { kind: 'K', name: 'n', apiGroup: 'example.org' } } }, 2],
    ];
    for (const [url, body, want] of table) {
      const { body: next, text } = await server.ask('PATCH', url, { type: merge, body });
      assert.equal(next.metadata.generation, want, text);
    }
  });
});

test('a large write that always conflicts fails after a few attempts', async () => {
  const store = openMemoryStore();
  await using server = await testServer({ store });
  await server.ask('POST', maps, { body: { metadata: { name: 'a' }, data: { long: 'x'.repeat(100_000) } } });
  const cache = server.context.watchCache.of(configMapKind);
  const key = cache.key('default', 'a');
  const commit = store.commit.bind(store);
  let attempts = 0;
  store.commit = async (writes) => {
    if (writes.some((write) => write.key === key)) {
      attempts++;
      await commit([{ key, value: cache.get(key)?.entry.value }]);
    }
    return commit(writes);
  };
  const answer = await server.ask('PATCH', `${maps}/a`, { type: merge, body: { data: { short: 'y' } } });
  store.commit = commit;
  assert.deepEqual([answer.status, answer.body.reason, attempts], [500, 'ServerTimeout', 8]);
  await store.close();
});
