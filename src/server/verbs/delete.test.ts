import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { Answer, TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const services = '/api/v1/namespaces/default/services';
const pods = '/api/v1/namespaces/default/pods';
const merge = 'application/merge-patch+json';

const create = async (server: TestServer, url: string, body: object): Promise<Answer> => {
  const answer = await server.ask('POST', url, { body });
  assert.equal(answer.status, 201, answer.text);
  return answer;
};

suite('a deletion', () => {
  test('returns a Status or the object, depending on the kind, with the revision of the deletion', async () => {
    await using server = await testServer();
    const { body: map } = await create(server, maps, { metadata: { name: 'a' } });
    const status = await server.ask('DELETE', `${maps}/a`);
    assert.deepEqual(status.body, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'a', kind: 'configmaps', uid: map.metadata.uid },
    });
    await create(server, services, { metadata: { name: 'a' }, spec: { ports: [{ port: 80 }] } });
    const object = await server.ask('DELETE', `${services}/a`);
    assert.equal(object.body.kind, 'Service');
    assert.equal(object.body.metadata.resourceVersion, String(server.context.watchCache.revision));
    const lease = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    await create(server, lease, { metadata: { name: 'a' } });
    assert.equal((await server.ask('DELETE', `${lease}/a`)).body.details.group, 'coordination.k8s.io');
  });

  test('of an unknown object is a 404', async () => {
    await using server = await testServer();
    const { status, body } = await server.ask('DELETE', `${maps}/a`);
    assert.deepEqual([status, body.message], [404, 'configmaps "a" not found']);
  });

  test('checks preconditions', async () => {
    await using server = await testServer();
    const { body: map } = await create(server, maps, { metadata: { name: 'a' } });
    const { uid, resourceVersion } = map.metadata;
    const table: readonly [preconditions: object, message: string][] = [
      [
        { uid: 'x' },
        `Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (x) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
      ],
      [
        { uid, resourceVersion: '1' },
        `Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`,
      ],
    ];
    for (const [preconditions, message] of table) {
      const { status, body } = await server.ask('DELETE', `${maps}/a`, { body: { preconditions } });
      assert.deepEqual([status, body.message, body.details.kind], [409, message, 'ConfigMap']);
    }
    const { status } = await server.ask('DELETE', `${maps}/a`, { body: { preconditions: { uid, resourceVersion } } });
    assert.equal(status, 200);
  });

  test('rejects contradictory and invalid options', async () => {
    await using server = await testServer();
    await create(server, maps, { metadata: { name: 'a' } });
    const table: readonly [ask: { query?: string; body?: unknown }, status: number, message: RegExp][] = [
      [{ body: { propagationPolicy: 'Orphan', orphanDependents: true } }, 422, /cannot be both set/],
      [{ body: { propagationPolicy: 'Sometimes' } }, 422, /propagationPolicy: Unsupported value: "Sometimes"/],
      [{ query: '?dryRun=Some' }, 422, /dryRun: Unsupported value/],
      [{ query: '?gracePeriodSeconds=soon' }, 400, /^strconv.ParseInt: parsing "soon": invalid syntax$/],
      [
        { body: { propagationPolicy: '' } },
        422,
        /propagationPolicy: Unsupported value: "": supported values: "Foreground"/,
      ],
      [{ body: { kind: 'Foo', apiVersion: 'v1' } }, 400, /^no kind "Foo" is registered for version "v1"$/],
      [{ body: { dryRun: 'All' } }, 400, /^json: cannot unmarshal string into Go struct field DeleteOptions.dryRun/],
      [{ body: '{' }, 400, /^couldn't get version\/kind; json parse error: unexpected end of JSON input$/],
    ];
    for (const [{ query = '', body }, status, message] of table) {
      const answer = await server.ask('DELETE', `${maps}/a${query}`, body === undefined ? {} : { body });
      assert.equal(answer.status, status, answer.text);
      assert.match(answer.body.message, message);
    }
    assert.equal((await server.ask('GET', `${maps}/a`)).status, 200);
  });
});

suite('finalizers', () => {
  const held = { metadata: { name: 'a', finalizers: ['example.org/a', 'example.org/b'] } };

  test('keep an object until the last one is removed', async () => {
    await using server = await testServer();
    await create(server, maps, held);
    const watch = await server.watch(`${maps}?watch=1&resourceVersion=${server.context.watchCache.revision}`);
    const marked = await server.ask('DELETE', `${maps}/a`);
    assert.equal(marked.status, 200);
    assert.equal(marked.body.kind, 'ConfigMap', 'the object, whatever the kind returns when it is removed');
    assert.equal(marked.body.metadata.deletionGracePeriodSeconds, 0);
    assert.match(marked.body.metadata.deletionTimestamp, /Z$/);
    const again = await server.ask('DELETE', `${maps}/a`);
    assert.equal(again.body.metadata.resourceVersion, marked.body.metadata.resourceVersion, 'a second time is nothing');
    const more = await server.ask('PATCH', `${maps}/a`, {
      type: merge,
      body: { metadata: { finalizers: ['example.org/a', 'example.org/new'] } },
    });
    assert.equal(more.status, 422);
    assert.match(more.body.message, /no new finalizers can be added if the object is being deleted/);
    await server.ask('PATCH', `${maps}/a`, { type: merge, body: { metadata: { finalizers: ['example.org/b'] } } });
    const last = await server.ask('PATCH', `${maps}/a`, { type: merge, body: { metadata: { finalizers: null } } });
    assert.equal(last.status, 200);
    assert.equal((await server.ask('GET', `${maps}/a`)).status, 404);
    const events = await watch.take(3);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['MODIFIED', 'MODIFIED', 'DELETED'],
    );
    assert.deepEqual(events[2]?.object.metadata.finalizers, ['example.org/b'], 'what it was last');
    watch.close();
  });

  test('of the garbage collector follow the propagation policy', async () => {
    await using server = await testServer();
    const table: readonly [options: object, before: string[], after: string[] | 'gone', code: number][] = [
      [{ propagationPolicy: 'Orphan' }, [], ['orphan'], 200],
      [{ propagationPolicy: 'Foreground' }, ['orphan'], ['foregroundDeletion'], 200],
      [{ propagationPolicy: 'Background' }, ['orphan'], 'gone', 200],
      [{}, ['orphan'], ['orphan'], 200],
      [{}, [], 'gone', 200],
      [{ orphanDependents: true }, [], ['orphan'], 200],
      [{ orphanDependents: false }, ['foregroundDeletion'], 'gone', 200],
      [{ orphanDependents: false }, ['example.org/a'], ['example.org/a'], 202],
    ];
    for (const [index, [options, finalizers, after, code]] of table.entries()) {
      const name = `m${index}`;
      await create(server, maps, { metadata: { name, finalizers } });
      const { status } = await server.ask('DELETE', `${maps}/${name}`, { body: options });
      assert.equal(status, code);
      const { status: there, body } = await server.ask('GET', `${maps}/${name}`);
      assert.deepEqual(there === 404 ? 'gone' : body.metadata.finalizers, after, JSON.stringify(options));
    }
  });

  test('increment the generation once', async () => {
    await using server = await testServer();
    const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
    await create(server, slices, { ...held, addressType: 'IPv4' });
    const { body } = await server.ask('DELETE', `${slices}/a`);
    assert.equal(body.metadata.generation, 2);
    const again = await server.ask('DELETE', `${slices}/a`, { body: { propagationPolicy: 'Orphan' } });
    assert.equal(again.body.metadata.generation, 2);
    assert.ok(again.body.metadata.finalizers.includes('orphan'));
  });
});

suite('Pods', () => {
  const pod = (name: string, nodeName?: string): object => ({
    metadata: { name },
    spec: { containers: [{ name: 'a', image: 'a' }], ...(nodeName === undefined ? {} : { nodeName }) },
  });

  test('that never ran, or have terminated, are removed at once', async () => {
    await using server = await testServer();
    await create(server, pods, pod('waiting'));
    assert.equal((await server.ask('DELETE', `${pods}/waiting`)).status, 200);
    assert.equal((await server.ask('GET', `${pods}/waiting`)).status, 404);
    await create(server, pods, pod('done', 'node'));
    await server.ask('PATCH', `${pods}/done/status`, { type: merge, body: { status: { phase: 'Failed' } } });
    await server.ask('DELETE', `${pods}/done`);
    assert.equal((await server.ask('GET', `${pods}/done`)).status, 404);
  });

  test('that run get a grace period, which can be shortened and not extended', async () => {
    await using server = await testServer();
    await create(server, pods, pod('a', 'node'));
    const table: readonly [options: object, grace: number | 'gone'][] = [
      [{}, 30],
      [{ gracePeriodSeconds: 60 }, 30],
      [{ gracePeriodSeconds: 5 }, 5],
      [{ gracePeriodSeconds: -1 }, 1],
      [{ gracePeriodSeconds: 0 }, 'gone'],
    ];
    for (const [options, want] of table) {
      await server.ask('DELETE', `${pods}/a`, { body: options });
      const { status, body } = await server.ask('GET', `${pods}/a`);
      assert.equal(status === 404 ? 'gone' : body.metadata.deletionGracePeriodSeconds, want, JSON.stringify(options));
    }
  });
});

suite('a collection', () => {
  test('returns the objects as they were before the deletion', async () => {
    await using server = await testServer();
    await create(server, maps, { metadata: { name: 'a', labels: { x: 'y' } } });
    const url = `${maps}?labelSelector=x&propagationPolicy=Foreground`;
    const { body } = await server.ask('DELETE', url);
    assert.deepEqual([body.items.length, body.items[0].metadata.deletionTimestamp], [1, undefined]);
    const left = await server.ask('GET', `${maps}/a`);
    assert.deepEqual(left.body.metadata.finalizers, ['foregroundDeletion']);
  });

  test('deletes and returns the selected objects', async () => {
    await using server = await testServer();
    for (const name of ['a', 'b', 'c']) {
      await create(server, maps, { metadata: { name, labels: name === 'c' ? {} : { app: 'x' } } });
    }
    await create(server, maps, { metadata: { name: 'd', labels: { app: 'x' }, finalizers: ['example.org/a'] } });
    const dry = await server.ask('DELETE', `${maps}?labelSelector=app&dryRun=All`);
    assert.equal(dry.body.items.length, 3);
    assert.equal((await server.ask('GET', `${maps}?labelSelector=app`)).body.items.length, 3);
    const { status, body } = await server.ask('DELETE', `${maps}?labelSelector=app`);
    assert.equal(status, 200);
    assert.equal(body.kind, 'ConfigMapList');
    assert.deepEqual(
      body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name),
      ['a', 'b', 'd'],
    );
    const { body: rest } = await server.ask('GET', maps);
    assert.deepEqual(
      rest.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name),
      ['c', 'd', 'kube-root-ca.crt'],
    );
  });

  test('is deleted once by two concurrent requests', async () => {
    await using server = await testServer();
    await Promise.all(
      Array.from({ length: 150 }, (_, index) =>
        create(server, maps, { metadata: { name: `n${index}`, labels: { app: 'x' } } }),
      ),
    );
    const both = [server.ask('DELETE', `${maps}?labelSelector=app`), server.ask('DELETE', `${maps}?labelSelector=app`)];
    for (const { status } of await Promise.all(both)) assert.equal(status, 200);
    assert.equal((await server.ask('GET', `${maps}?labelSelector=app`)).body.items.length, 0);
  });
});
