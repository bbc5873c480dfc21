import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startWatchdog } from './clock.ts';
import { ManualClock } from './testing/clocks.ts';

test('a watchdog fires after its timeout, and again while the callback returns wait', async () => {
  const clock = new ManualClock();
  const activity: { at?: number } = {};
  const acted: number[] = [];
  const cancel = startWatchdog({ clock, timeoutMs: 3000, lastActivityAt: () => activity.at }, () => {
    acted.push(clock.elapsed());
    return acted.length < 2 ? 'wait' : 'done';
  });
  await clock.advance(1000);
  activity.at = 1000;
  await clock.advance(30_000);
  assert.deepEqual(acted, [4000, 7000]);
  cancel();
});

test('a watchdog fires with fractional milliseconds too', async () => {
  for (let step = 0; step < 200; step++) {
    const clock = new ManualClock(1000 * Math.PI * step);
    let count = 0;
    const heardAt = clock.elapsed() + 1 / 3;
    startWatchdog({ clock, timeoutMs: 3000, lastActivityAt: () => heardAt }, () => {
      count++;
      return 'done';
    });
    await clock.advance(3010);
    assert.equal(count, 1);
  }
});

test('a watchdog of a blocked process reads pending input before it fires', async () => {
  const clock = new ManualClock();
  const activity: { at?: number } = {};
  let count = 0;
  const cancel = startWatchdog({ clock, timeoutMs: 3000, lastActivityAt: () => activity.at }, () => {
    count++;
    return 'done';
  });
  clock.stall(5000);
  await clock.advance(0);
  activity.at = clock.elapsed();
  await clock.advance(2900);
  assert.equal(count, 0);
  await clock.advance(100);
  assert.equal(count, 1);
  cancel();
});
