import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { numberSet } from './banded-pool.ts';

const sizes = [1, 31, 32, 33, 100, 2 ** 20, 2 ** 20 + 1];

for (const size of sizes) {
  test(`a set of ${size} numbers behaves like a Set and finds the first absent number`, () => {
    const low = Math.min(size, 100);
    const number = fc.oneof(fc.nat({ max: low - 1 }), fc.integer({ min: Math.max(0, size - low), max: size - 1 }));
    const step = fc.tuple(fc.constantFrom('add', 'delete', 'next'), number);
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const model = new Set<number>();
        const tested = numberSet(size);
        for (const [action, value] of steps) {
          if (action === 'add') {
            assert.equal(tested.add(value), !model.has(value));
            model.add(value);
          } else if (action === 'delete') {
            assert.equal(tested.delete(value), model.delete(value));
          } else {
            let want = value;
            while (model.has(want)) want++;
            assert.equal(tested.nextAbsent(value, size), want < size ? want : -1);
            assert.equal(tested.nextAbsent(value, value), -1);
          }
          assert.equal(tested.has(value), model.has(value));
          assert.equal(tested.count, model.size);
        }
      }),
      { numRuns: 50 },
    );
  });
}

test('a full bitmap has no absent number in any part', () => {
  const full = numberSet(70);
  for (let number = 0; number < 70; number++) full.add(number);
  for (let from = 0; from <= 70; from++) assert.equal(full.nextAbsent(from, 70), -1);
});
