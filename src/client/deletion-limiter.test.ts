import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from './testing/clocks.ts';
import { DeletionLimiter } from './deletion-limiter.ts';

const deleted = (limiter: DeletionLimiter, count: number, total: number): number =>
  Array.from({ length: count }, () => limiter.waitMs('east', total)).filter((wait) => wait === 0).length;

test('delays deletions of more than half of a source, and allows them after the delay', async () => {
  const clock = new ManualClock();
  const limiter = new DeletionLimiter(clock, { least: 5, windowMs: 1000, holdMs: 10_000 });
  assert.equal(deleted(limiter, 100, 100), 50);
  assert.deepEqual(limiter.held, ['east']);
  assert.equal(limiter.waitMs('west', 3), 0, 'other sources are not delayed');
  await clock.advance(9999);
  assert.equal(deleted(limiter, 50, 50), 0);
  await clock.advance(1);
  assert.equal(deleted(limiter, 50, 50), 50);
  assert.deepEqual(limiter.held, []);
});

test('allows a few deletions, and any number that is spread over time', async () => {
  const clock = new ManualClock();
  const limiter = new DeletionLimiter(clock, { least: 5, windowMs: 1000 });
  assert.equal(deleted(limiter, 5, 5), 5);
  for (let count = 0; count < 100; count++) {
    await clock.advance(300);
    assert.equal(limiter.waitMs('west', 10), 0);
  }
});
