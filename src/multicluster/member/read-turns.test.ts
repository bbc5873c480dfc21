import assert from 'node:assert/strict';
import { test } from 'node:test';

import { settled } from '../../client/testing/clocks.ts';
import { ReadTurns } from './read-turns.ts';

test('24 members are read at once, and all of a hundred in the end', async () => {
  const turns = new ReadTurns();
  let [reading, most, read] = [0, 0, 0];
  await Promise.all(
    Array.from({ length: 100 }, async () => {
      const done = await turns.take(new AbortController().signal);
      most = Math.max(most, ++reading);
      await settled();
      reading--;
      read++;
      done();
      done(); // a turn ends once
    }),
  );
  assert.deepEqual([most, read], [24, 100]);
});

test('a member that is stopped waits no longer, and its turn goes to the next', async () => {
  const turns = new ReadTurns();
  const { signal } = new AbortController();
  const running = await Promise.all(Array.from({ length: 24 }, () => turns.take(signal)));
  const stop = new AbortController();
  const stopped = turns.take(stop.signal);
  const next = turns.take(signal);
  stop.abort();
  (await stopped)();
  running[0]?.();
  (await next)();
});
