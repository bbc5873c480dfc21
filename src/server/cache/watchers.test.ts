import assert from 'node:assert/strict';
import { test } from 'node:test';

import { cacheOf, changeOf, entryOf, recorder } from './testing/cache.ts';

test('notifies watchers of the resource, of the namespace and of the object, and no others', () => {
  const cache = cacheOf();
  const all = recorder(cache, cache.prefix);
  const shop = recorder(cache, cache.scope('shop'));
  const one = recorder(cache, cache.key('shop', 'a'), true);
  for (const watcher of [all, shop, one]) cache.watchers.add(watcher);
  cache.apply(changeOf('shop/a', 1, entryOf('shop/a', 1)), 0);
  cache.apply(changeOf('shop/ab', 2, entryOf('shop/ab', 2)), 0);
  cache.apply(changeOf('shopping/a', 3, entryOf('shopping/a', 3)), 0);
  assert.deepEqual(all.log, ['new shop/a@1', 'new shop/ab@2', 'new shopping/a@3']);
  assert.deepEqual(shop.log, ['new shop/a@1', 'new shop/ab@2']);
  assert.deepEqual(one.log, ['new shop/a@1']);
});

test('does not notify removed watchers; removing an unknown watcher has no effect', () => {
  const cache = cacheOf();
  const [stays, leaves] = [recorder(cache, cache.prefix), recorder(cache, cache.prefix)];
  cache.watchers.add(stays);
  cache.watchers.remove(leaves);
  cache.watchers.add(leaves);
  assert.equal(cache.watchers.count, 2);
  cache.watchers.remove(leaves);
  cache.watchers.remove(leaves);
  assert.equal(cache.watchers.count, 1);
  cache.apply(changeOf('shop/a', 1, entryOf('shop/a', 1)), 0);
  assert.deepEqual([stays.log.length, leaves.log.length], [1, 0]);
});

test('allows removal during iteration', () => {
  const cache = cacheOf();
  for (const scope of [cache.prefix, cache.prefix, cache.scope('shop')]) cache.watchers.add(recorder(cache, scope));
  cache.watchers.add(recorder(cache, cache.key('shop', 'a'), true));
  let visited = 0;
  for (const watcher of cache.watchers) {
    cache.watchers.remove(watcher);
    visited++;
  }
  assert.equal(visited, 4);
  assert.equal(cache.watchers.count, 0);
});
