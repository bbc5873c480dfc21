import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ManualClock } from '../../client/testing/clocks.ts';
import { LagGrace } from './lag-grace.ts';

const key = 'shop/web';

test('waits ten seconds after an election, and then one second for each service', async () => {
  const clock = new ManualClock();
  const grace = new LagGrace(clock);
  grace.beginTerm();
  assert.equal(grace.leftMs(key), 10_000);
  await clock.advance(10_000);
  assert.equal(grace.leftMs(key), 0);
  assert.equal(grace.leftMs('shop/new'), 1000);
});

test('doubles the wait between writes that name lagging members, until none lags', async () => {
  const clock = new ManualClock();
  const grace = new LagGrace(clock);
  grace.beginTerm();
  await clock.advance(20_000);
  grace.leftMs(key);
  await clock.advance(1000);
  assert.deepEqual([grace.leftMs(key), grace.requeueAfterMs(key)], [0, 1000]);
  await clock.advance(7000);
  assert.deepEqual([grace.leftMs(key), grace.requeueAfterMs(key)], [0, 8000]);
  grace.delete(key);
  assert.equal(grace.leftMs(key), 1000);
});

test('starts again with each term', async () => {
  const clock = new ManualClock();
  const grace = new LagGrace(clock);
  grace.leftMs(key);
  await clock.advance(60_000);
  grace.beginTerm();
  assert.equal(grace.leftMs(key), 10_000);
  await clock.advance(10_000);
  assert.equal(grace.requeueAfterMs(key), 10_000);
});
