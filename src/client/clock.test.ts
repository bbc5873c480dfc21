import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startWatchdog } from './clock.ts';
import { ManualClock } from './testing/clocks.ts';

test('it acts when nothing was heard for so long, and again while that helped nothing', async () => {
  const clock = new ManualClock();
  const heard: { at?: number } = {};
  const acted: number[] = [];
  const cancel = startWatchdog({ clock, longestMs: 3000, heardAt: () => heard.at }, () => {
    acted.push(clock.elapsed());
    return acted.length < 2 ? 'nothing' : 'done';
  });
  await clock.advance(1000);
  heard.at = 1000;
  await clock.advance(30_000);
  assert.deepEqual(acted, [4000, 7000]);
  cancel();
});

test('moments that are no whole milliseconds come to an end too', async () => {
  for (let step = 0; step < 200; step++) {
    const clock = new ManualClock(1000 * Math.PI * step);
    let count = 0;
    const heardAt = clock.elapsed() + 1 / 3;
    startWatchdog({ clock, longestMs: 3000, heardAt: () => heardAt }, () => {
      count++;
      return 'done';
    });
    await clock.advance(3010);
    assert.equal(count, 1);
  }
});

test('who was held up hears what has come before it acts', async () => {
  const clock = new ManualClock();
  const heard: { at?: number } = {};
  let count = 0;
  const cancel = startWatchdog({ clock, longestMs: 3000, heardAt: () => heard.at }, () => {
    count++;
    return 'done';
  });
  clock.stall(5000);
  await clock.advance(0);
  heard.at = clock.elapsed();
  await clock.advance(2900);
  assert.equal(count, 0);
  await clock.advance(100);
  assert.equal(count, 1);
  cancel();
});
