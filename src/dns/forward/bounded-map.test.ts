import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import { BoundedMap } from './bounded-map.ts';

test('keeps used entries during a flood of new ones', () => {
  const map = new BoundedMap<number>({ entries: 100, bytes: Infinity });
  for (let each = 0; each < 50; each++) map.set(`useful${each}`, each, 1);
  for (let each = 0; each < 50; each++) map.get(`useful${each}`);
  for (let each = 0; each < 10_000; each++) map.set(`flood${each}`, each, 1);
  const kept = Array.from({ length: 50 }, (_, each) => map.get(`useful${each}`));
  assert.deepEqual(
    kept,
    Array.from({ length: 50 }, (_, each) => each),
  );
});

test('evicts the least recently used entry', () => {
  const map = new BoundedMap<number>({ entries: 5, bytes: Infinity });
  for (const key of ['a', 'b', 'c', 'd', 'e']) {
    map.set(key, 0, 1);
    map.get(key);
  }
  for (const key of ['a', 'c', 'd', 'e']) map.get(key);
  map.set('f', 0, 1);
  assert.deepEqual(Array.from(map.entries(), ([key]) => key).toSorted(), ['a', 'c', 'd', 'e', 'f']);
});

test('ignores an entry that exceeds the bounds', () => {
  const map = new BoundedMap<number>({ entries: 5, bytes: 100 });
  map.set('a', 1, 50);
  map.set('b', 2, 101);
  assert.equal(map.get('a'), 1);
  assert.equal(map.get('b'), undefined);
});

test('never exceeds its bounds, and returns only the latest values', () => {
  const command = fc.oneof(
    fc.record({ do: fc.constant('set' as const), key: fc.nat(20), bytes: fc.nat(40) }),
    fc.record({ do: fc.constant('get' as const), key: fc.nat(20), bytes: fc.constant(0) }),
    fc.record({ do: fc.constant('delete' as const), key: fc.nat(20), bytes: fc.constant(0) }),
  );
  fc.assert(
    fc.property(fc.array(command, { maxLength: 200 }), fc.integer({ min: 1, max: 12 }), (commands, entries) => {
      let evicted = 0;
      const map = new BoundedMap<number>({ entries, bytes: 120, onEvict: () => void evicted++ });
      const model = new Map<string, { readonly value: number; readonly bytes: number }>();
      for (const [value, { do: what, key, bytes }] of commands.entries()) {
        if (what === 'set') {
          map.set(String(key), value, bytes);
          model.set(String(key), { value, bytes });
        } else if (what === 'delete') {
          map.delete(String(key));
          model.delete(String(key));
        } else {
          const found = map.get(String(key));
          assert.ok(found === undefined || found === model.get(String(key))?.value);
        }
        const kept = Array.from(map.entries());
        assert.ok(map.size <= entries && map.bytes <= 120);
        assert.equal(kept.length, map.size);
        assert.equal(
          kept.reduce((sum, [each]) => sum + (model.get(each)?.bytes ?? NaN), 0),
          map.bytes,
        );
      }
      assert.ok(evicted <= commands.length);
    }),
  );
});
