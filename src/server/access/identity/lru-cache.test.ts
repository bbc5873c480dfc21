import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import { LruCache } from './lru-cache.ts';

test('keeps the most recently used entries', () => {
  const recent = new LruCache<string, number>(2);
  recent.set('a', 1);
  recent.set('b', 2);
  assert.equal(recent.get('a'), 1);
  recent.set('c', 3); // b is the least recently used
  assert.deepEqual([recent.get('a'), recent.get('b'), recent.get('c')], [1, undefined, 3]);
});

test('never exceeds its size and never returns a wrong value', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(20), fc.boolean())), (steps) => {
      const recent = new LruCache<number, number>(5);
      for (const [key, isWrite] of steps) {
        if (isWrite) recent.set(key, key * 2);
        else assert.ok([undefined, key * 2].includes(recent.get(key)));
        assert.ok(recent.size <= 5);
      }
    }),
  );
});
