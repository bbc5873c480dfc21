import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { ChunkedList } from './chunked-list.ts';

test('behaves like an array', () => {
  const step = fc.record({ at: fc.nat(3000), does: fc.constantFrom('insert', 'remove', 'set') });
  fc.assert(
    fc.property(fc.nat(2000), fc.array(step, { maxLength: 300 }), (length, steps) => {
      const array: unknown[] = Array.from({ length }, (_, index) => index);
      const list = new ChunkedList(array);
      for (const [index, { at, does }] of steps.entries()) {
        if (does === 'insert') {
          array.splice(at % (array.length + 1), 0, `new ${index}`);
          list.insert(at % (list.length + 1), `new ${index}`);
        } else if (array.length > 0) {
          const place = at % array.length;
          assert.equal(list.at(place), array[place]);
          if (does === 'set') {
            array[place] = index;
            list.set(place, index);
          } else {
            array.splice(place, 1);
            list.remove(place);
          }
        }
      }
      assert.equal(list.length, array.length);
      assert.deepEqual(list.toArray(), array);
    }),
  );
});

test('splits and empties chunks', () => {
  const list = new ChunkedList([]);
  for (let index = 0; index < 5000; index++) list.insert(0, index);
  assert.deepEqual(
    list.toArray(),
    Array.from({ length: 5000 }, (_, index) => 4999 - index),
  );
  for (let index = 0; index < 5000; index++) list.remove(0);
  assert.deepEqual(list.toArray(), []);
  list.insert(0, 'x');
  assert.equal(list.at(0), 'x');
});
