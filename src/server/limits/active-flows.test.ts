import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ActiveFlows } from './active-flows.ts';

test('who is alone: nobody else has asked of late', () => {
  let now = 0;
  const company = new ActiveFlows(() => now);
  assert.ok(company.isAlone('alice'), 'nobody has asked');
  company.record('alice');
  assert.ok(company.isAlone('alice'));
  assert.ok(!company.isAlone('bob'));
  now = 100;
  company.record('bob');
  for (now = 101; now < 300; now += 10) company.record('alice');
  assert.ok(!company.isAlone('alice'), 'bob was here a moment ago');
  now = 400;
  assert.ok(company.isAlone('alice'), 'bob has gone');
  company.record('carol');
  company.record('bob');
  assert.deepEqual(
    ['alice', 'bob', 'carol'].filter((flow) => company.isAlone(flow)),
    [],
  );
});
