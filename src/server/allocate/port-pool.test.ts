import assert from 'node:assert/strict';
import { test } from 'node:test';

import { PortPool } from './port-pool.ts';

const least = (): number => 0;
const greatest = (): number => 1 - Number.EPSILON / 2;

const bands = [
  { from: 30000, to: 32767, dynamic: [30086, 32767] },
  { from: 30000, to: 30015, dynamic: [30000, 30015] },
  { from: 30000, to: 30127, dynamic: [30016, 30127] },
  { from: 30000, to: 30511, dynamic: [30016, 30511] },
  { from: 20000, to: 29999, dynamic: [20128, 29999] },
] as const;

for (const { from, to, dynamic } of bands) {
  test(`${from}-${to} allocates ${dynamic.join(' to ')} first`, () => {
    const pool = new PortPool({ from, to });
    assert.deepEqual([pool.allocateNext(least), pool.allocateNext(greatest)], dynamic);
    assert.equal(pool.free, to - from - 1);
  });
}

test('allocates a requested port once, and only within the range', () => {
  const pool = new PortPool({ from: 30000, to: 32767 });
  assert.deepEqual(
    [30000, 32767, 29999, 32768, 80, -1, 30000.5].map((port) => pool.allocate(port)),
    [true, true, false, false, false, false, false],
  );
  assert.equal(pool.allocate(30000), false);
  assert.equal(pool.has(30000), true);
  assert.equal(pool.has(29999), false);
  assert.equal(pool.used, 2);
  assert.equal(pool.release(30000), true);
  assert.equal(pool.release(30000), false);
  assert.equal(pool.release(29999), false);
  assert.equal(pool.allocate(30000), true);
});

test('allocates from the static band last', () => {
  const pool = new PortPool({ from: 1, to: 40 });
  const taken = Array.from({ length: 41 }, () => pool.allocateNext(least));
  assert.deepEqual(
    taken.slice(0, 24),
    Array.from({ length: 24 }, (_, index) => 17 + index),
  );
  assert.deepEqual(
    taken.slice(24, 40),
    Array.from({ length: 16 }, (_, index) => 1 + index),
  );
  assert.equal(taken[40], undefined);
});
