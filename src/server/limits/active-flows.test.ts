import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ActiveFlows } from './active-flows.ts';

test('another flow is active until it has sent no request for a while', () => {
  let now = 0;
  const flows = new ActiveFlows(() => now);
  assert.ok(!flows.hasOtherFlows('alice'), 'no request yet');
  flows.record('alice');
  assert.ok(!flows.hasOtherFlows('alice'));
  assert.ok(flows.hasOtherFlows('bob'));
  now = 100;
  flows.record('bob');
  for (now = 101; now < 300; now += 10) flows.record('alice');
  assert.ok(flows.hasOtherFlows('alice'), 'bob sent a request a moment ago');
  now = 400;
  assert.ok(!flows.hasOtherFlows('alice'), 'bob is no longer active');
  flows.record('carol');
  flows.record('bob');
  assert.deepEqual(
    ['alice', 'bob', 'carol'].filter((flow) => !flows.hasOtherFlows(flow)),
    [],
  );
});
