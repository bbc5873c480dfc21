// Several stores over one prefix.

import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import type { Change, Store } from '../store.ts';
import { EtcdClient } from './client.ts';
import type { EtcdStoreOptions } from './etcd.ts';
import { openEtcdStore } from './etcd.ts';
import { range } from './messages.ts';
import type { TestEtcd } from './testing/etcd.ts';
import { etcdProgram, startEtcd } from './testing/etcd.ts';

suite('stores over one etcd', { skip: etcdProgram === undefined && 'needs etcd on the path' }, () => {
  let etcd: TestEtcd | undefined;
  let count = 0;
  before(async () => (etcd = await startEtcd({ isDurable: false })));
  after(() => etcd?.[Symbol.asyncDispose]());

  const endpoints = (): readonly string[] => etcd?.urls ?? [];
  const openTwo = async (
    options: Partial<EtcdStoreOptions> = {},
  ): Promise<AsyncDisposable & { readonly stores: Store[] }> => {
    const prefix = `/shared${++count}`;
    const stores = [
      await openEtcdStore({ endpoints: endpoints(), prefix, ...options }),
      await openEtcdStore({ endpoints: endpoints(), prefix, ...options }),
    ];
    return {
      stores,
      async [Symbol.asyncDispose]() {
        for (const store of stores) await store.close();
      },
    };
  };

  test('keys with a time to live expire in all of them, each at a revision of its own', async () => {
    await using opened = await openTwo();
    const deletions = opened.stores.map((): Change[] => []);
    await using stack = new AsyncDisposableStack();
    for (const [index, store] of opened.stores.entries()) {
      const stop = new AbortController();
      stack.defer(() => stop.abort());
      const onChanges = (changes: readonly Change[]): void => {
        deletions[index]?.push(...changes.filter(({ entry }) => entry === undefined));
      };
      await store.watch('/registry/', store.revision, { onChanges, onEnd: assert.fail }, stop.signal);
    }
    const keys = Array.from({ length: 150 }, (_, index) => `/registry/events/default/e${index}`);
    await Promise.all(
      keys.map(async (key, index) => opened.stores[index % 2]?.commit([{ key, value: '{}', ttlSeconds: 2 }])),
    );
    // A write without a time to live keeps its key.
    const kept = keys.pop() ?? '';
    await opened.stores[0]?.commit([{ key: kept, value: 'kept' }]);
    const isComplete = (): boolean => deletions.every(({ length }) => length >= keys.length);
    for (const deadline = Date.now() + 60_000; !isComplete() && Date.now() < deadline;) await delay(50);
    const [first = [], second = []] = deletions;
    assert.deepEqual(first.map(({ key }) => key).toSorted(), keys.toSorted());
    assert.equal(new Set(first.map(({ revision }) => revision)).size, keys.length);
    assert.deepEqual(second, first);
    assert.equal((await opened.stores[1]?.get(kept))?.value, 'kept');
  });

  test('one that opens later has the same history, also if etcd sends it in fragments', async () => {
    await using opened = await openTwo();
    const [first] = opened.stores;
    assert.ok(first);
    const from = first.revision;
    const value = 'x'.repeat(20_000);
    // Batches of about 1.2 MB; etcd sends fragments of up to 2 MB.
    await Promise.all(
      Array.from({ length: 400 }, async (_, index) => first.commit([{ key: `/registry/large/${index}`, value }])),
    );
    await using late = await openEtcdStore({ endpoints: endpoints(), prefix: `/shared${count}` });
    const histories = await Promise.all(
      [first, late].map(async (store) => {
        const changes: Change[] = [];
        const onChanges = (some: readonly Change[]): void => void changes.push(...some);
        const stop = new AbortController();
        await store.watch('/registry/', from, { onChanges, onEnd: assert.fail }, stop.signal);
        stop.abort();
        return changes.map(({ key, revision, entry }) => [key, revision, entry?.value.length]);
      }),
    );
    assert.equal(histories[0]?.length, 400);
    assert.deepEqual(histories[1], histories[0]);
  });

  test('one of them compacts at a time, and none loses its place', async () => {
    const keepMs = 200;
    const began = performance.now();
    await using opened = await openTwo({ keepMs });
    const [first, second] = opened.stores;
    assert.ok(first && second);
    const seen: number[] = [];
    const stop = new AbortController();
    const onChanges = (changes: readonly Change[]): void => void seen.push(...changes.map(({ revision }) => revision));
    await second.watch('/registry/', second.revision, { onChanges, onEnd: assert.fail }, stop.signal);
    using client = new EtcdClient({ endpoints: endpoints() });
    const written: number[] = [];
    const compactions = async (): Promise<number> => {
      const { kvs } = await client.call(range, { key: 'compact_rev_key' });
      return kvs[0]?.version ?? 0;
    };
    const before = await compactions();
    for (const deadline = Date.now() + 60_000; (await compactions()) < before + 6;) {
      assert.ok(Date.now() < deadline, 'etcd is compacted');
      const commit = await first.commit([{ key: '/registry/counter', value: String(written.length) }]);
      assert.ok(commit.ok);
      written.push(commit.revision);
      await delay(5);
    }
    const elapsed = performance.now() - began;
    assert.ok((await compactions()) - before <= elapsed / keepMs + 2, 'one compaction in an interval');
    await second.sync();
    stop.abort();
    assert.deepEqual(seen, written);
    // etcd no longer has the first revisions.
    const oldest = client.call(range, { key: '/', revision: 2, limit: 1 });
    await assert.rejects(oldest, /required revision has been compacted/);
  });
});
