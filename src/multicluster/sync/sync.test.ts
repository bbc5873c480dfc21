import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { WorkQueue } from '../../client/queue.ts';
import { ManualClock } from '../../client/testing/clocks.ts';
import { Brake } from './brake.ts';
import { Pace } from './pace.ts';

describe('the pace', () => {
  test('lets the first change through at once, and those that follow together', async () => {
    const clock = new ManualClock();
    const runs: number[] = [];
    const queue = new WorkQueue({
      clock,
      async work(key) {
        pace.began(key);
        runs.push(clock.elapsed());
      },
    });
    const stop = new AbortController();
    const running = queue.run(stop.signal);
    const pace = new Pace(queue, 100, clock);
    for (let step = 0; step < 25; step++) {
      pace.touch('shop/web');
      await clock.advance(10);
    }
    await clock.advance(1000);
    assert.deepEqual(runs, [0, 100, 200, 300]);
    pace.touch('shop/web');
    await clock.advance(0);
    assert.deepEqual(runs.at(-1), 1250);
    stop.abort();
    await running;
  });
});

describe('the brake', () => {
  const deleted = (brake: Brake, count: number, total: number): number =>
    Array.from({ length: count }, () => brake.waitMs('east', total)).filter((wait) => wait === 0).length;

  test('holds what would be more than half, and lets it go after a while', async () => {
    const clock = new ManualClock();
    const brake = new Brake(clock, { least: 5, windowMs: 1000, holdMs: 10_000 });
    assert.equal(deleted(brake, 100, 100), 50);
    assert.deepEqual(brake.held, ['east']);
    assert.equal(brake.waitMs('west', 3), 0, 'others are not held');
    await clock.advance(9999);
    assert.equal(deleted(brake, 50, 50), 0);
    await clock.advance(1);
    assert.equal(deleted(brake, 50, 50), 50);
    assert.deepEqual(brake.held, []);
  });

  test('lets through what is few, and what is spread over time', async () => {
    const clock = new ManualClock();
    const brake = new Brake(clock, { least: 5, windowMs: 1000 });
    assert.equal(deleted(brake, 5, 5), 5);
    for (let count = 0; count < 100; count++) {
      await clock.advance(300);
      assert.equal(brake.waitMs('west', 10), 0);
    }
  });
});
