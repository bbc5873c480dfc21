import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { TerminalError } from './errors.ts';
import type { QueueOptions } from './queue.ts';
import { WorkQueue } from './queue.ts';
import { ManualClock, settled } from './testing/clocks.ts';

interface Started extends AsyncDisposable {
  readonly queue: WorkQueue;
  readonly clock: ManualClock;
}

function start(options: QueueOptions): Started {
  const clock = new ManualClock();
  const queue = new WorkQueue({ clock, random: () => 1, ...options });
  const stop = new AbortController();
  const running = queue.run(stop.signal);
  return {
    queue,
    clock,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

test('deduplicates a key, and runs it again if it is added during its run', async () => {
  const runs: string[] = [];
  let gate = Promise.withResolvers<void>();
  await using started = start({
    work: async (key) => {
      runs.push(key);
      await gate.promise;
    },
    workers: 1,
  });
  const { queue } = started;
  for (const key of ['a', 'b', 'b', 'a', 'a']) queue.add(key);
  assert.equal(queue.length, 2);
  await settled();
  assert.deepEqual(runs, ['a']);
  gate.resolve();
  await settled();
  assert.deepEqual(runs, ['a', 'b', 'a']);
  gate = Promise.withResolvers();
  gate.resolve();
});

test('backoff of a key doubles up to a maximum and resets after a success', async () => {
  const times: number[] = [];
  let isBroken = true;
  const reported: number[] = [];
  await using started = start({
    work: async () => {
      times.push(started.clock.now());
      if (isBroken) throw new Error('no');
    },
    backoff: { baseMs: 10, maxMs: 40 },
    onError: (_error, _key, failures) => void reported.push(failures),
  });
  const { queue, clock } = started;
  await clock.advance(0);
  queue.add('a');
  await clock.advance(150);
  assert.deepEqual(times, [0, 10, 30, 70, 110, 150]);
  isBroken = false;
  await clock.advance(40);
  isBroken = true;
  queue.add('a');
  await clock.advance(10);
  assert.deepEqual(times.slice(6), [190, 190, 200]);
  assert.deepEqual(reported, [1, 2, 3, 4, 5, 6, 1, 2]);
});

test('does not retry a terminal error until the key is added', async () => {
  let runs = 0;
  const reported: unknown[] = [];
  await using started = start({
    work: async () => {
      runs++;
      throw new TerminalError('never');
    },
    onError: (error) => void reported.push(error),
  });
  const { queue, clock } = started;
  queue.add('a');
  await clock.advance(1e9);
  assert.equal(runs, 1);
  queue.add('a');
  await settled();
  assert.deepEqual([runs, reported.length], [2, 2]);
});

test('the shortest of several delays wins, and add cancels all of them', async () => {
  const times: number[] = [];
  await using started = start({ work: async () => void times.push(started.clock.now()) });
  const { queue, clock } = started;
  queue.addAfter('a', 100);
  queue.addAfter('a', 50);
  queue.addAfter('a', 80);
  await clock.advance(200);
  queue.addAfter('a', 50);
  queue.add('a');
  await clock.advance(100);
  assert.deepEqual(times, [50, 200]);
});

test('runs a key again after requeueAfterMs', async () => {
  const times: number[] = [];
  await using started = start({
    work: async () => {
      times.push(started.clock.now());
      return { requeueAfterMs: 30 };
    },
  });
  const { queue, clock } = started;
  queue.add('a');
  await clock.advance(70);
  assert.deepEqual(times, [0, 30, 60]);
});

test('stopping starts nothing new, waits for running work, and leaves no timer', async () => {
  const clock = new ManualClock();
  const gate = Promise.withResolvers<void>();
  const runs: string[] = [];
  const queue = new WorkQueue({
    clock,
    workers: 1,
    work: async (key, signal) => {
      runs.push(key);
      await gate.promise;
      signal.throwIfAborted();
    },
    onError: () => assert.fail('stopping is not a failure'),
  });
  queue.add('a');
  queue.add('b');
  queue.addAfter('c', 10);
  const stop = new AbortController();
  const state = { isOver: false };
  const running = queue.run(stop.signal).then(() => {
    state.isOver = true;
  });
  await settled();
  stop.abort();
  await settled();
  assert.deepEqual([state.isOver, clock.nextMs], [false, undefined]);
  gate.resolve();
  await running;
  queue.addAfter('d', 10);
  assert.deepEqual([runs, clock.nextMs], [['a'], undefined]);
});

test('with any sequence of adds, no key runs concurrently, workers are bounded, and a run follows every add', async () => {
  const step = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e'), delay: fc.nat(20), pass: fc.nat(10) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 30 }),
      fc.array(fc.boolean(), { minLength: 1 }),
      async (steps, fails) => {
        const running = new Set<string>();
        /** Key → adds since the start of its last run. */
        const pendingAdds = new Map<string, number>();
        let runs = 0;
        let most = 0;
        await using started = start({
          workers: 2,
          work: async (key) => {
            assert.ok(!running.has(key), `${key} runs twice`);
            running.add(key);
            most = Math.max(most, running.size);
            pendingAdds.delete(key);
            await new Promise<void>((resolve) => void started.clock.after(3, resolve));
            running.delete(key);
            if (fails[runs++ % fails.length] === true && runs < 100) throw new Error('no');
          },
        });
        for (const { key, delay, pass } of steps) {
          pendingAdds.set(key, (pendingAdds.get(key) ?? 0) + 1);
          if (delay < 5) started.queue.add(key);
          else started.queue.addAfter(key, delay);
          await started.clock.advance(pass);
        }
        await started.clock.advance(1e9);
        assert.deepEqual([...pendingAdds.keys()], []);
        assert.ok(most <= 2);
        assert.equal(started.queue.length, 0);
      },
    ),
    { numRuns: 30 },
  );
});

test('coalesces adds of a key within a window after it started', async () => {
  const clock = new ManualClock();
  const runs: number[] = [];
  const queue = new WorkQueue({ clock, coalesceMs: 100, work: async () => void runs.push(clock.elapsed()) });
  const stop = new AbortController();
  const running = queue.run(stop.signal);
  for (let step = 0; step < 25; step++) {
    queue.add('shop/web');
    await clock.advance(10);
  }
  await clock.advance(1000);
  assert.deepEqual(runs, [0, 100, 200, 300]);
  queue.add('shop/web');
  await clock.advance(0);
  assert.deepEqual(runs.at(-1), 1250);
  stop.abort();
  await running;
});
