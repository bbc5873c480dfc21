import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { openMemoryStore } from '../../store/memory/memory.ts';
import type { Answer, TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';
import { until } from '../testing/until.ts';

const merge = 'application/merge-patch+json';
const maps = '/api/v1/namespaces/shop/configmaps';
const web = { name: 'web', image: 'web' };

async function withShop(options: Parameters<typeof testServer>[0] = {}): Promise<TestServer> {
  const server = await testServer(options);
  await server.ask('POST', '/api/v1/namespaces', { body: { metadata: { name: 'shop' } } });
  await found(server, `${maps}/kube-root-ca.crt`);
  return server;
}

const found = (server: TestServer, url: string): Promise<Answer> =>
  until(`${url} exists`, async () => {
    const answer = await server.ask('GET', url);
    return answer.status === 200 ? answer : undefined;
  });

const gone = (server: TestServer, url: string): Promise<boolean> =>
  until(`${url} is deleted`, async () => (await server.ask('GET', url)).status === 404);

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

const condition = (answer: Answer, type: string): Condition | undefined =>
  (answer.body.status?.conditions as Condition[] | undefined)?.find((each) => each.type === type);

suite('a live namespace', () => {
  test('is active and has its finalizer and its name label, which every write restores', async () => {
    await using server = await withShop();
    const { body } = await server.ask('GET', '/api/v1/namespaces/shop');
    assert.deepEqual(
      [body.status, body.spec, body.metadata.labels],
      [{ phase: 'Active' }, { finalizers: ['kubernetes'] }, { 'kubernetes.io/metadata.name': 'shop' }],
    );
    const patched = await server.ask('PATCH', '/api/v1/namespaces/shop', {
      type: merge,
      body: { metadata: { labels: null } },
    });
    assert.deepEqual(patched.body.metadata.labels, { 'kubernetes.io/metadata.name': 'shop' });
  });

  test('has a service account and the certificate authority, which are restored after changes', async () => {
    await using server = await withShop();
    const account = '/api/v1/namespaces/shop/serviceaccounts/default';
    for (const url of [account, `${maps}/kube-root-ca.crt`]) {
      const { uid } = (await found(server, url)).body.metadata;
      await server.ask('DELETE', url);
      await until('another one', async () => (await found(server, url)).body.metadata.uid !== uid);
    }
    const edited = { type: merge, body: { data: { 'ca.crt': 'forged' }, metadata: { labels: { mine: 'yes' } } } };
    await server.ask('PATCH', `${maps}/kube-root-ca.crt`, edited);
    const restored = await until('the authority is restored', async () => {
      const answer = await server.ask('GET', `${maps}/kube-root-ca.crt`);
      return answer.body.data['ca.crt'] === 'CA' ? answer : undefined;
    });
    assert.deepEqual(restored.body.metadata.labels, { mine: 'yes' });
  });

  test('causes no writes while nothing changes', async () => {
    await using server = await withShop();
    const { revision } = server.context.watchCache;
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(server.context.watchCache.revision, revision);
  });
});

suite('a deleted namespace', () => {
  test('is returned as terminating, and is removed after its content', async () => {
    await using server = await withShop();
    const services = '/api/v1/namespaces/shop/services';
    await server.ask('POST', services, { body: { metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } } });
    for (let index = 0; index < 100; index++)
      await server.ask('POST', maps, { body: { metadata: { name: `m${index}` } } });
    const used = server.context.allocator.metrics().clusterIps[0]?.allocated;
    const { status, body } = await server.ask('DELETE', '/api/v1/namespaces/shop');
    assert.equal(status, 200);
    assert.deepEqual([body.kind, body.status.phase], ['Namespace', 'Terminating']);
    await gone(server, '/api/v1/namespaces/shop');
    for (const url of [maps, services, '/api/v1/namespaces/shop/serviceaccounts']) {
      assert.equal((await server.ask('GET', url)).body.items.length, 0, url);
    }
    assert.equal(server.context.allocator.metrics().clusterIps[0]?.allocated, Number(used) - 1);
  });

  test('also deletes objects that are created before its deletion is visible', async () => {
    await using server = await withShop();
    const racing = Array.from({ length: 50 }, (_, index) =>
      server.ask('POST', maps, { body: { metadata: { name: `race${index}` } } }),
    );
    await Promise.all([server.ask('DELETE', '/api/v1/namespaces/shop'), ...racing]);
    await gone(server, '/api/v1/namespaces/shop');
    assert.equal((await server.ask('GET', maps)).body.items.length, 0);
  });

  test('waits for finalizers, reports them, and does not write again', async () => {
    await using server = await withShop();
    await server.ask('POST', maps, { body: { metadata: { name: 'held', finalizers: ['example.org/a'] } } });
    const lease = { metadata: { name: 'held', finalizers: ['example.org/a', 'example.org/b'] } };
    await server.ask('POST', '/apis/coordination.k8s.io/v1/namespaces/shop/leases', { body: lease });
    await server.ask('DELETE', '/api/v1/namespaces/shop');
    const waiting = await until('the conditions name the finalizers', async () => {
      const answer = await server.ask('GET', '/api/v1/namespaces/shop');
      return condition(answer, 'NamespaceContentRemaining')?.status === 'True' ? answer : undefined;
    });
    const conditionOf = (type: string): string[] => {
      const { status = '', reason = '', message = '' } = condition(waiting, type) ?? {};
      return [status, reason, message];
    };
    assert.deepEqual(conditionOf('NamespaceContentRemaining'), [
      'True',
      'SomeResourcesRemain',
      'Some resources are remaining: configmaps. has 1 resource instances, leases.coordination.k8s.io has 1 resource instances',
    ]);
    assert.deepEqual(conditionOf('NamespaceFinalizersRemaining'), [
      'True',
      'SomeFinalizersRemain',
      'Some content in the namespace has finalizers remaining: example.org/a in 2 resource instances, example.org/b in 1 resource instances',
    ]);
    assert.deepEqual(conditionOf('NamespaceDeletionDiscoveryFailure').slice(0, 2), ['False', 'ResourcesDiscovered']);
    assert.deepEqual(conditionOf('NamespaceDeletionGroupVersionParsingFailure').slice(0, 2), [
      'False',
      'ParsedGroupVersions',
    ]);
    assert.deepEqual(conditionOf('NamespaceDeletionContentFailure').slice(0, 2), ['False', 'ContentDeleted']);
    const { revision } = server.context.watchCache;
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(server.context.watchCache.revision, revision);
    await server.ask('PATCH', `${maps}/held`, { type: merge, body: { metadata: { finalizers: null } } });
    await server.ask('PATCH', '/apis/coordination.k8s.io/v1/namespaces/shop/leases/held', {
      type: merge,
      body: { metadata: { finalizers: null } },
    });
    await gone(server, '/api/v1/namespaces/shop');
  });

  test('removes Pods, with their finalizers, before any other content', async () => {
    await using server = await withShop();
    const pods = '/api/v1/namespaces/shop/pods';
    const pod = { metadata: { name: 'held', finalizers: ['example.org/a'] }, spec: { containers: [web] } };
    await server.ask('POST', pods, { body: pod });
    await server.ask('POST', maps, { body: { metadata: { name: 'settings' } } });
    await server.ask('DELETE', '/api/v1/namespaces/shop');
    const waiting = await until('the namespace has conditions', async () => {
      const answer = await server.ask('GET', '/api/v1/namespaces/shop');
      return condition(answer, 'NamespaceDeletionContentFailure') && answer;
    });
    assert.deepEqual(
      waiting.body.status.conditions.map(({ type, status, reason }: Condition) => [type, status, reason]),
      [
        ['NamespaceDeletionDiscoveryFailure', 'False', 'ResourcesDiscovered'],
        ['NamespaceDeletionGroupVersionParsingFailure', 'False', 'ParsedGroupVersions'],
        ['NamespaceDeletionContentFailure', 'False', 'ContentDeleted'],
        ['NamespaceContentRemaining', 'False', 'ContentRemoved'],
        ['NamespaceFinalizersRemaining', 'False', 'ContentHasNoFinalizers'],
      ],
      'while Pods remain, Kubernetes counts nothing',
    );
    assert.notEqual((await server.ask('GET', `${pods}/held`)).body.metadata.deletionTimestamp, undefined);
    const kept = await server.ask('GET', `${maps}/settings`);
    assert.deepEqual([kept.status, kept.body.metadata.deletionTimestamp], [200, undefined]);
    await server.ask('PATCH', `${pods}/held`, { type: merge, body: { metadata: { finalizers: null } } });
    await gone(server, '/api/v1/namespaces/shop');
    assert.equal((await server.ask('GET', maps)).body.items.length, 0);
  });

  test('reports Pods that outlive their grace period without a finalizer', async () => {
    await using server = await withShop();
    const pods = '/api/v1/namespaces/shop/pods';
    const spec = { nodeName: 'node-1', terminationGracePeriodSeconds: 1, containers: [web] };
    await server.ask('POST', pods, { body: { metadata: { name: 'slow' }, spec } });
    await server.ask('DELETE', '/api/v1/namespaces/shop');
    const failed = await until('the content failure', async () => {
      const answer = await server.ask('GET', '/api/v1/namespaces/shop');
      const failure = condition(answer, 'NamespaceDeletionContentFailure');
      return failure?.status === 'True' ? failure : undefined;
    });
    assert.deepEqual(
      [failed.reason, failed.message],
      [
        'ContentDeletionFailed',
        'Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace: shop for gvr: /v1, Resource=pods',
      ],
    );
    await server.ask('DELETE', `${pods}/slow?gracePeriodSeconds=0`);
    await gone(server, '/api/v1/namespaces/shop');
  });

  test('waits for its own finalizers in spec and metadata', async () => {
    await using server = await withShop();
    await server.ask('PUT', '/api/v1/namespaces/shop/finalize', {
      body: { metadata: { name: 'shop' }, spec: { finalizers: ['kubernetes', 'example.org/spec'] } },
    });
    await server.ask('PATCH', '/api/v1/namespaces/shop', {
      type: merge,
      body: { metadata: { finalizers: ['example.org/metadata'] } },
    });
    await server.ask('DELETE', '/api/v1/namespaces/shop');
    const emptied = await until('it is empty', async () => {
      const { body } = await server.ask('GET', '/api/v1/namespaces/shop');
      return body.spec.finalizers.includes('kubernetes') ? undefined : body;
    });
    assert.deepEqual(emptied.spec.finalizers, ['example.org/spec']);
    await server.ask('PUT', '/api/v1/namespaces/shop/finalize', { body: { metadata: emptied.metadata, spec: {} } });
    const { body } = await server.ask('GET', '/api/v1/namespaces/shop');
    assert.deepEqual(body.metadata.finalizers, ['example.org/metadata']);
    await server.ask('PATCH', '/api/v1/namespaces/shop', { type: merge, body: { metadata: { finalizers: null } } });
    await gone(server, '/api/v1/namespaces/shop');
  });

  test('rejects new objects and accepts updates', async () => {
    await using server = await withShop();
    await server.ask('POST', maps, { body: { metadata: { name: 'held', finalizers: ['example.org/a'] } } });
    await server.ask('DELETE', '/api/v1/namespaces/shop');
    const { status, body } = await server.ask('POST', maps, { body: { metadata: { name: 'late' } } });
    assert.equal(status, 403);
    assert.equal(
      body.message,
      'configmaps "late" is forbidden: unable to create new content in namespace shop because it is being terminated',
    );
    assert.deepEqual(body.details.causes, [
      { reason: 'NamespaceTerminating', message: 'namespace shop is being terminated', field: 'metadata.namespace' },
    ]);
    const changed = await server.ask('PATCH', `${maps}/held`, { type: merge, body: { data: { k: 'v' } } });
    assert.equal(changed.status, 200);
  });

  test('is emptied further after a restart', async () => {
    await using store = openMemoryStore();
    {
      await using server = await withShop({ store });
      await server.ask('POST', maps, { body: { metadata: { name: 'held', finalizers: ['example.org/a'] } } });
      await server.ask('DELETE', '/api/v1/namespaces/shop');
    }
    await using server = await testServer({ store });
    await server.ask('PATCH', `${maps}/held`, { type: merge, body: { metadata: { finalizers: null } } });
    await gone(server, '/api/v1/namespaces/shop');
  });

  test('cannot be default, kube-system or kube-public', async () => {
    await using server = await testServer();
    for (const name of ['default', 'kube-system', 'kube-public']) {
      const { status, body } = await server.ask('DELETE', `/api/v1/namespaces/${name}`);
      assert.equal(status, 403);
      assert.equal(body.message, `namespaces "${name}" is forbidden: this namespace may not be deleted`);
    }
  });
});
