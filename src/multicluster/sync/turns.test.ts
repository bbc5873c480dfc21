import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Turns } from './turns.ts';

test('much work takes turns with the event loop, and comes to its end', async () => {
  const turns = new Turns();
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
      await turns.take();
      done++;
    }
  };
  await Promise.all(Array.from({ length: 50 }, work));
  isOver = true;
  assert.equal(done, 1000);
  assert.ok(loops >= 1000 / 16 - 1, `${loops} turns`);
});

test('little work waits for nothing', async () => {
  const turns = new Turns();
  let isNext = false;
  setImmediate(() => (isNext = true));
  for (let run = 0; run < 10; run++) await turns.take();
  assert.equal(isNext, false);
});
