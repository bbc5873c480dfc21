import assert from 'node:assert/strict';
import { test } from 'node:test';

import { yieldToEventLoop } from './yield-to-event-loop.ts';

test('lets 16 callers continue in each turn of the event loop, and all in the end', async () => {
  const turn = yieldToEventLoop();
  let loops = 0;
  let isOver = false;
  const count = (): void => {
    loops++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  let done = 0;
  const work = async (): Promise<void> => {
    for (let run = 0; run < 20; run++) {
      await turn();
      done++;
    }
  };
  await Promise.all(Array.from({ length: 50 }, work));
  isOver = true;
  assert.equal(done, 1000);
  assert.ok(loops >= 1000 / 16 - 1, `${loops} turns`);
});

test('does not delay a few callers', async () => {
  const turn = yieldToEventLoop();
  let isNext = false;
  setImmediate(() => (isNext = true));
  for (let run = 0; run < 10; run++) await turn();
  assert.equal(isNext, false);
});
