import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ManualClock, settled } from '../../client/testing/clocks.ts';
import { BoundedRunner } from './runner.ts';

interface Given {
  readonly clock: ManualClock;
  readonly runner: BoundedRunner;
  readonly runs: number[];
  readonly errors: string[];
  fails: number;
  idles: number;
  stop(): Promise<void>;
}

function start(): Given {
  const clock = new ManualClock();
  const stopped = new AbortController();
  const given: Given = {
    clock,
    runs: [],
    errors: [],
    fails: 0,
    idles: 0,
    runner: new BoundedRunner({
      run: async () => {
        given.runs.push(clock.now());
        if (given.fails-- > 0) throw new Error('not now');
      },
      minIntervalMs: 1000,
      maxIntervalMs: 60_000,
      onIdle: () => given.idles++,
      onError: (error) => given.errors.push(String(error)),
      clock,
      random: () => 1,
    }),
    async stop() {
      stopped.abort();
      await serving;
    },
  };
  const serving = given.runner.serve(stopped.signal);
  return given;
}

test('runs at once after the first trigger, and combines later ones until the minimum interval has passed', async () => {
  const given = start();
  given.runner.trigger();
  await settled();
  assert.deepEqual(given.runs, [0]);
  given.runner.trigger();
  given.runner.trigger();
  await given.clock.advance(999);
  assert.deepEqual(given.runs, [0]);
  await given.clock.advance(1);
  assert.deepEqual(given.runs, [0, 1000]);
  await given.clock.advance(10_000);
  assert.deepEqual(given.runs, [0, 1000]);
  given.runner.trigger();
  await settled();
  assert.deepEqual(given.runs, [0, 1000, 11_000]);
  await given.stop();
});

test('runs without a trigger after the maximum interval', async () => {
  const given = start();
  await given.clock.advance(59_999);
  assert.deepEqual(given.runs, []);
  await given.clock.advance(1);
  assert.deepEqual(given.runs, [60_000]);
  assert.equal(given.idles, 1);
  await given.stop();
});

test('reports a failure and retries with exponential backoff', async () => {
  const given = start();
  given.fails = 3;
  given.runner.trigger();
  await given.clock.advance(5000);
  assert.deepEqual(given.runs, [0, 200, 600, 1400]);
  assert.equal(given.errors.length, 3);
  await given.stop();
});
