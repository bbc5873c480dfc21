import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ManualClock } from '../../client/testing/clocks.ts';
import { NodeHealth } from './health.ts';

test('a node has the whole grace period after an interruption that ended before it was noticed', async () => {
  const clock = new ManualClock(0);
  const health = new NodeHealth(clock);
  health.observe('a', 'report');
  await clock.advance(40_000);
  health.noteInterruptions(2);
  assert.equal(health.silentMs('a'), 0);
  await clock.advance(10_000);
  health.noteInterruptions(2);
  assert.equal(health.silentMs('a'), 10_000);
});
