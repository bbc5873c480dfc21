import assert from 'node:assert/strict';
import { test } from 'node:test';

import { openMemoryStore } from '../../store/memory/memory.ts';
import type { Change, Entry, WatchObserver } from '../../store/store.ts';
import { listAndWatch } from './list-watch.ts';

/** A follower that keeps a plain copy, and counts how often it started over. */
function copyOf(prefix: string) {
  const copy = new Map<string, string>();
  const follower = {
    prefix,
    copy,
    starts: 0,
    replace(entries: readonly Entry[]): void {
      follower.starts++;
      copy.clear();
      for (const { key, value } of entries) copy.set(key, value);
    },
    apply(changes: readonly Change[]): void {
      for (const { key, entry } of changes) {
        if (entry === undefined) copy.delete(key);
        else copy.set(key, entry.value);
      }
    },
  };
  return follower;
}

const until = async (holds: () => boolean): Promise<void> => {
  for (let turn = 0; turn < 1000 && !holds(); turn++) await new Promise((done) => setImmediate(done));
  assert.ok(holds());
};

test('lists existing keys in pages, then delivers changes', async () => {
  await using store = openMemoryStore();
  const stop = new AbortController();
  for (let from = 0; from < 5_100; from += 100) {
    await store.commit(Array.from({ length: 100 }, (_, index) => ({ key: `/a/${from + index}`, value: 'x' })));
  }
  await store.commit([{ key: '/b/1', value: 'other' }]);
  const follower = copyOf('/a/');
  await listAndWatch(store, follower, stop.signal);
  assert.equal(follower.copy.size, 5_100);

  await store.commit([
    { key: '/a/0', value: undefined },
    { key: '/a/new', value: 'y' },
  ]);
  assert.equal(follower.copy.has('/a/0'), false);
  assert.equal(follower.copy.get('/a/new'), 'y');

  stop.abort();
  await store.commit([{ key: '/a/late', value: 'z' }]);
  assert.equal(follower.copy.has('/a/late'), false);
});

test('lists and watches again after its watch ended, until it succeeds', async () => {
  await using store = openMemoryStore();
  const stop = new AbortController();
  const observers: WatchObserver[] = [];
  let isBroken = false;
  const breakable = {
    range: (prefix: string) => (isBroken ? Promise.reject(new Error('away')) : store.range(prefix)),
    watch: (prefix: string, from: number, observer: WatchObserver, signal: AbortSignal) => {
      observers.push(observer);
      return store.watch(prefix, from, observer, signal);
    },
  };
  const follower = copyOf('/a/');
  await listAndWatch(breakable, follower, stop.signal);
  observers[0]?.onEnd(new Error('compacted'));
  await until(() => observers.length === 2);
  assert.equal(follower.starts, 2);

  isBroken = true;
  observers[1]?.onEnd(new Error('away'));
  await until(() => true);
  assert.equal(observers.length, 2);
  stop.abort();
});
