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

test('the first request is answered at once, and those that follow are one, after the least interval', async () => {
  const given = start();
  given.runner.ask();
  await settled();
  assert.deepEqual(given.runs, [0]);
  given.runner.ask();
  given.runner.ask();
  await given.clock.advance(999);
  assert.deepEqual(given.runs, [0]);
  await given.clock.advance(1);
  assert.deepEqual(given.runs, [0, 1000]);
  await given.clock.advance(10_000);
  assert.deepEqual(given.runs, [0, 1000]);
  given.runner.ask();
  await settled();
  assert.deepEqual(given.runs, [0, 1000, 11_000]);
  await given.stop();
});

test('it runs by itself after the longest interval', async () => {
  const given = start();
  await given.clock.advance(59_999);
  assert.deepEqual(given.runs, []);
  await given.clock.advance(1);
  assert.deepEqual(given.runs, [60_000]);
  assert.equal(given.idles, 1);
  await given.stop();
});

test('what fails is reported and tried again, after waits that double', async () => {
  const given = start();
  given.fails = 3;
  given.runner.ask();
  await given.clock.advance(5000);
  assert.deepEqual(given.runs, [0, 200, 600, 1400]);
  assert.equal(given.errors.length, 3);
  await given.stop();
});
