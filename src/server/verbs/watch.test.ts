import assert from 'node:assert/strict';
import { mock, suite, test } from 'node:test';

import { leaseKind } from '../../api/kinds/coordination/lease/kind.ts';
import type { TestServer, TestWatch } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';
import { until } from '../testing/until.ts';

const maps = '/api/v1/namespaces/default/configmaps';
/** Only what a test writes. */
const own = 'labelSelector=own';

const write = async (server: TestServer, name: string, labels: object = {}, data: object = {}): Promise<string> => {
  const body = { metadata: { name, labels: { own: '', ...labels } }, data };
  const put = await server.ask('PUT', `${maps}/${name}`, { body });
  const { body: written } = put.status === 404 ? await server.ask('POST', maps, { body }) : put;
  return written.metadata.resourceVersion;
};

const eventsOf = ({ events }: TestWatch): string[] =>
  events.map(({ type, object }) => `${type} ${object.metadata.name ?? ''}@${object.metadata.resourceVersion}`);

suite('the start of a watch', () => {
  test('without a revision, or with 0: the existing objects as ADDED, then changes', async () => {
    for (const query of ['', '&resourceVersion=', '&resourceVersion=0']) {
      await using server = await testServer();
      const [a, b] = [await write(server, 'a'), await write(server, 'b')];
      const watch = await server.watch(`${maps}?watch=1&${own}${query}`);
      await watch.take(2);
      const c = await write(server, 'c');
      await watch.take(3);
      assert.deepEqual(eventsOf(watch), [`ADDED a@${a}`, `ADDED b@${b}`, `ADDED c@${c}`], query);
      watch.close();
    }
  });

  test('with a revision: the changes after it', async () => {
    await using server = await testServer();
    const a = await write(server, 'a');
    const b = await write(server, 'b');
    const changed = await write(server, 'a', {}, { k: 'v' });
    const watch = await server.watch(`${maps}?watch=1&resourceVersion=${a}`);
    await watch.take(2);
    assert.deepEqual(eventsOf(watch), [`ADDED b@${b}`, `MODIFIED a@${changed}`]);
    watch.close();
  });

  test('with a future revision: only the changes after it', async () => {
    await using server = await testServer();
    const watch = await server.watch(`${maps}?watch=1&resourceVersion=${server.context.watchCache.revision + 1}`);
    await write(server, 'before');
    const after = await write(server, 'after');
    await watch.take(1);
    assert.deepEqual(eventsOf(watch), [`ADDED after@${after}`]);
    watch.close();
  });

  test('with sendInitialEvents=false: only new changes', async () => {
    await using server = await testServer();
    await write(server, 'a');
    const watch = await server.watch(`${maps}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan`);
    const b = await write(server, 'b');
    await watch.take(1);
    assert.deepEqual(eventsOf(watch), [`ADDED b@${b}`]);
    watch.close();
  });

  test('of one object, by selector or by the legacy path', async () => {
    await using server = await testServer();
    const [, b] = [await write(server, 'a'), await write(server, 'b')];
    for (const url of [
      `${maps}?watch=1&fieldSelector=metadata.name%3Db`,
      '/api/v1/watch/namespaces/default/configmaps/b',
      '/api/v1/configmaps?watch=1&fieldSelector=metadata.name%3Db',
    ]) {
      const watch = await server.watch(url);
      await watch.take(1);
      await write(server, 'a', {}, { url });
      await server.ask('DELETE', `${maps}/a`);
      assert.deepEqual(eventsOf(watch), [`ADDED b@${b}`], url);
      watch.close();
    }
  });
});

test('a selector maps changes to ADDED, MODIFIED and DELETED', async () => {
  await using server = await testServer();
  const watch = await server.watch(`${maps}?watch=1&labelSelector=app%3Dweb`);
  await write(server, 'a', { app: 'db' });
  const added = await write(server, 'a', { app: 'web' }, { k: '1' });
  const modified = await write(server, 'a', { app: 'web' }, { k: '2' });
  const deleted = await write(server, 'a', { app: 'db' }, { k: '3' });
  await server.ask('DELETE', `${maps}/a`);
  const again = await write(server, 'a', { app: 'web' });
  await server.ask('DELETE', `${maps}/a`);
  const events = await watch.take(5);
  const gone = String(server.context.watchCache.revision);
  assert.deepEqual(eventsOf(watch), [
    `ADDED a@${added}`,
    `MODIFIED a@${modified}`,
    `DELETED a@${deleted}`,
    `ADDED a@${again}`,
    `DELETED a@${gone}`,
  ]);
  assert.deepEqual(events[2]?.object.data, { k: '2' }, 'what it was when it last matched');
  assert.deepEqual(events[2]?.object.metadata.labels, { own: '', app: 'web' });
  for (const { object } of events) assert.deepEqual([object.kind, object.apiVersion], ['ConfigMap', 'v1']);
  watch.close();
});

suite('bookmarks', () => {
  const endOf = ({ object }: TestWatch['events'][number]): unknown =>
    object.metadata.annotations?.['k8s.io/initial-events-end'];

  test('WatchList: the initial objects, then a bookmark', async () => {
    await using server = await testServer();
    const a = await write(server, 'a');
    const url = `${maps}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&${own}`;
    for (const revision of ['', '0', a]) {
      const watch = await server.watch(`${url}&resourceVersion=${revision}`);
      const [added, bookmark] = await watch.take(2);
      assert.equal(added?.type, 'ADDED');
      assert.equal(bookmark?.type, 'BOOKMARK');
      assert.equal(bookmark.object.kind, 'ConfigMap');
      assert.equal(endOf(bookmark), 'true');
      assert.ok(Number(bookmark.object.metadata.resourceVersion) >= Number(a));
      watch.close();
    }
  });

  test('WatchList of a future revision fails like that of Kubernetes', async () => {
    await using server = await testServer({ cache: { waitMs: 5 } });
    const future = server.context.watchCache.revision + 100;
    const url = `${maps}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=${future}`;
    const watch = await server.watch(url);
    const [error] = await watch.take(1);
    assert.deepEqual([error?.type, error?.object.code, error?.object.reason], ['ERROR', 504, 'Timeout']);
    assert.equal(watch.ended, true);
  });

  test('are sent on request, with the revision of the watch', async () => {
    await using server = await testServer();
    const [bookmarked, silent] = [
      await server.watch(
        `${maps}?watch=1&allowWatchBookmarks=true&resourceVersion=${server.context.watchCache.revision}`,
      ),
      await server.watch(`${maps}?watch=1&resourceVersion=${server.context.watchCache.revision}`),
    ];
    const { watchCache } = server.context;
    for (const { watchers } of watchCache.caches) for (const watcher of watchers) watcher.progress(watchCache.revision);
    await write(server, 'a');
    await Promise.all([bookmarked.take(2), silent.take(1)]);
    assert.deepEqual(
      bookmarked.events.map(({ type }) => type),
      ['BOOKMARK', 'ADDED'],
    );
    assert.deepEqual(bookmarked.events[0]?.object, {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { resourceVersion: String(watchCache.revision - 1) },
    });
    assert.deepEqual(
      silent.events.map(({ type }) => type),
      ['ADDED'],
    );
    bookmarked.close();
    silent.close();
  });

  test('one is sent two seconds before the end', async () => {
    await using server = await testServer();
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const start = server.context.watchCache.revision;
      const watch = await server.watch(
        `${maps}?watch=1&allowWatchBookmarks=1&timeoutSeconds=10&resourceVersion=${start}`,
      );
      mock.timers.tick(7999);
      assert.equal(watch.events.length, 0);
      mock.timers.tick(1);
      await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(eventsOf(watch), [`BOOKMARK @${start}`]);
      assert.equal(watch.ended, false);
      mock.timers.tick(2000);
      assert.equal(watch.ended, true);
    } finally {
      mock.timers.reset();
    }
  });
});

suite('the end of a watch', () => {
  test('after timeoutSeconds; the default and 0 mean half an hour to an hour', async () => {
    await using server = await testServer();
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const short = await server.watch(`${maps}?watch=1&timeoutSeconds=1`);
      const long = [await server.watch(`${maps}?watch=1&timeoutSeconds=0`), await server.watch(`${maps}?watch=1`)];
      mock.timers.tick(1000);
      assert.equal(short.ended, true);
      mock.timers.tick(1_798_000);
      assert.deepEqual(
        long.map(({ ended }) => ended),
        [false, false],
      );
      mock.timers.tick(1_801_001);
      assert.deepEqual(
        long.map(({ ended }) => ended),
        [true, true],
      );
    } finally {
      mock.timers.reset();
    }
  });

  test('with an ERROR when its revision is too old', async () => {
    await using server = await testServer({ cache: { limits: { maxEvents: 2, maxBytes: 1 << 20, maxAgeMs: 60_000 } } });
    const first = await write(server, 'a');
    const second = await write(server, 'b');
    await write(server, 'c');
    await write(server, 'd');
    const old = await server.watch(`${maps}?watch=1&resourceVersion=${first}`);
    const [error] = await old.take(1);
    assert.deepEqual(error, {
      type: 'ERROR',
      object: {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: `too old resource version: ${first} (${second})`,
        reason: 'Expired',
        code: 410,
      },
    });
    assert.equal(old.ended, true);
    const young = await server.watch(`${maps}?watch=1&resourceVersion=${second}`);
    await young.take(2);
    young.close();
  });

  test('when the server shuts down, after pending events', async () => {
    const server = await testServer();
    const watch = await server.watch(`${maps}?watch=1&resourceVersion=${server.context.watchCache.revision}`);
    await write(server, 'a');
    await server[Symbol.asyncDispose]();
    assert.equal(watch.ended, true);
    assert.equal(watch.events.length, 1);
  });

  test('when the client disconnects, which removes the watcher', async () => {
    await using server = await testServer();
    const [cache] = server.context.watchCache.caches;
    const before = cache?.watchers.count;
    const watch = await server.watch('/api/v1/namespaces?watch=1');
    await watch.take(4);
    assert.equal(cache?.watchers.count, Number(before) + 1);
    watch.close();
    assert.equal(cache.watchers.count, before);
  });
});

test('resumes on a resource without changes, however many other resources have', async () => {
  await using server = await testServer({ cache: { limits: { maxEvents: 100, maxBytes: 1 << 20, maxAgeMs: 60_000 } } });
  const { store, watchCache } = server.context;
  const from = await write(server, 'a');
  const idle = await server.watch(`${maps}?watch=1&resourceVersion=${from}`);
  const leases = watchCache.of(leaseKind);
  for (let round = 0; round < 50; round++) {
    const renewals = Array.from({ length: 100 }, (_, index) => `${round} ${index}`);
    await Promise.all(
      renewals.map((text) =>
        store.commit([
          {
            key: leases.key('kube-system', 'busy'),
            value: `{"kind":"Lease","metadata":{"name":"busy","labels":{"n":"${text}"}}}`,
          },
        ]),
      ),
    );
  }
  assert.ok(watchCache.revision > Number(from) + 4900);
  assert.ok(leases.floor > Number(from), 'the history of leases is compacted');
  const resumed = await server.watch(`${maps}?watch=1&resourceVersion=${from}`);
  const b = await write(server, 'b');
  for (const watch of [idle, resumed]) {
    await watch.take(1);
    assert.deepEqual(eventsOf(watch), [`ADDED b@${b}`]);
    watch.close();
  }
});

suite('as a table', () => {
  const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';

  test('sends columns with the first event only, and bookmarks as tables', async () => {
    await using server = await testServer();
    await write(server, 'a');
    await write(server, 'b');
    const url = `${maps}?watch=1&allowWatchBookmarks=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&${own}`;
    const watch = await server.watch(url, table);
    const events = await watch.take(3);
    assert.deepEqual(
      events.map(({ type, object }) => [type, object.kind, object.columnDefinitions?.length, object.rows.length]),
      [
        ['ADDED', 'Table', 3, 1],
        ['ADDED', 'Table', undefined, 1],
        ['BOOKMARK', 'Table', undefined, 1],
      ],
    );
    assert.equal(events[2]?.object.rows[0].object.metadata.annotations['k8s.io/initial-events-end'], 'true');
    watch.close();
  });
});

test('all watches of a burst receive the same order', async () => {
  await using server = await testServer();
  const from = server.context.watchCache.revision;
  const watches = await Promise.all(
    Array.from({ length: 10 }, () => server.watch(`${maps}?watch=1&resourceVersion=${from}`)),
  );
  await Promise.all(Array.from({ length: 30 }, (_, index) => write(server, `n${index}`)));
  await until('all watches have all events', () => watches.every(({ events }) => events.length >= 30));
  const [first] = watches.map(eventsOf);
  for (const watch of watches) {
    assert.deepEqual(eventsOf(watch), first);
    watch.close();
  }
  const revisions = watches[0]?.events.map(({ object }) => Number(object.metadata.resourceVersion)) ?? [];
  assert.deepEqual(
    revisions,
    revisions.toSorted((a, b) => a - b),
  );
});
