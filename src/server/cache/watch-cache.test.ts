import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { configMapKind } from '../../api/kinds/core/configmap/kind.ts';
import { eventKind } from '../../api/kinds/core/event/kind.ts';
import { eventsEventKind } from '../../api/kinds/events/event/kind.ts';
import { leaseKind } from '../../api/kinds/coordination/lease/kind.ts';
import { openMemoryStore } from '../../store/memory/memory.ts';
import type { Store } from '../../store/store.ts';
import { CompactedError } from '../../store/errors.ts';
import { entryOf, recorder } from './testing/cache.ts';
import { WatchCache } from './watch-cache.ts';

const kinds = [configMapKind, leaseKind, eventKind, eventsEventKind];

const open = (store: Store, onLost: (error: Error) => void = () => undefined): Promise<WatchCache> =>
  WatchCache.open({ store, kinds, clock: () => 0, onLost, waitMs: 20 });

const put = async (store: Store, path: string): Promise<number> => {
  const { key, value } = entryOf(path, 1);
  return (await store.commit([{ key, value }])).revision;
};

test('loads the state, follows changes and ignores keys of other resources', async () => {
  await using store = openMemoryStore();
  await put(store, 'shop/old');
  const watchCache = await open(store);
  const cache = watchCache.of(configMapKind);
  assert.deepEqual([cache.size, watchCache.revision], [1, store.revision]);
  const received = recorder(cache, cache.prefix);
  cache.watchers.add(received);
  const revision = await put(store, 'shop/new');
  await store.commit([{ key: '/registry/unknown/x', value: '{}' }]);
  assert.deepEqual(received.log, [`new shop/new@${revision}`]);
  assert.equal(watchCache.revision, revision + 1);
  watchCache.close();
  await put(store, 'shop/late');
  assert.equal(cache.size, 2);
});

test('the history starts where the store was compacted', async () => {
  await using store = openMemoryStore();
  const [first, second] = [await put(store, 'shop/a'), await put(store, 'shop/b')];
  await store.compact(first);
  const cache = (await open(store)).of(configMapKind);
  assert.equal(cache.since(first - 1), undefined);
  assert.deepEqual(
    cache.since(first)?.map(({ revision }) => revision),
    [second],
  );
});

test('fails to open if the store is compacted meanwhile', async () => {
  await using store = openMemoryStore();
  const revision = await put(store, 'shop/a');
  const compacting: Store = Object.create(store, {
    compacted: { value: store.compacted },
    commit: { value: store.commit.bind(store) },
    watch: { value: store.watch.bind(store) },
    range: {
      value: async (prefix: string) => {
        const range = await store.range(prefix);
        await store.compact(revision);
        return range;
      },
    },
  }) as Store;
  await assert.rejects(open(compacting), CompactedError);
});

test('a view shares the cache of the kind that stores it; an unknown kind throws', async () => {
  await using store = openMemoryStore();
  const watchCache = await open(store);
  assert.equal(watchCache.of(eventsEventKind), watchCache.of(eventKind));
  assert.throws(() => watchCache.of({ ...configMapKind }), /bug: ConfigMap has no cache/);
  assert.equal([...watchCache.caches].length, 3);
});

suite('waiting for a revision', () => {
  test('ends at once, when the revision is reached, or by a timeout', async () => {
    await using store = openMemoryStore();
    const watchCache = await open(store);
    assert.equal(await watchCache.waitForRevision(watchCache.revision), true);
    const waiting = watchCache.waitForRevision(watchCache.revision + 1);
    await put(store, 'shop/a');
    assert.equal(await waiting, true);
    assert.equal(await watchCache.waitForRevision(watchCache.revision + 1), false);
  });
});

test('reports the end of the watch of the store once', async () => {
  const store = openMemoryStore();
  const lost: Error[] = [];
  await open(store, (error) => lost.push(error));
  await store.close();
  assert.deepEqual(
    lost.map(({ message }) => message),
    ['the store is closed'],
  );
});
