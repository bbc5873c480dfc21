import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ManualClock } from '../../client/testing/clocks.ts';
import { Patience } from './patience.ts';

const key = 'shop/web';

test('a controller that has just begun waits for longer, and then a second for each service', async () => {
  const clock = new ManualClock();
  const patience = new Patience(clock);
  patience.begin();
  assert.equal(patience.leftMs(key), 10_000);
  await clock.advance(10_000);
  assert.equal(patience.leftMs(key), 0);
  assert.equal(patience.leftMs('shop/new'), 1000);
});

test('members that lag are told of ever more rarely, until nobody is waited for', async () => {
  const clock = new ManualClock();
  const patience = new Patience(clock);
  patience.begin();
  await clock.advance(20_000);
  patience.leftMs(key);
  await clock.advance(1000);
  assert.deepEqual([patience.leftMs(key), patience.againMs(key)], [0, 1000]);
  await clock.advance(7000);
  assert.deepEqual([patience.leftMs(key), patience.againMs(key)], [0, 8000]);
  patience.forget(key);
  assert.equal(patience.leftMs(key), 1000);
});

test('what was waited for in an earlier term is waited for anew', async () => {
  const clock = new ManualClock();
  const patience = new Patience(clock);
  patience.leftMs(key);
  await clock.advance(60_000);
  patience.begin();
  assert.equal(patience.leftMs(key), 10_000);
  await clock.advance(10_000);
  assert.equal(patience.againMs(key), 10_000);
});
