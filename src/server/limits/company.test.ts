import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Company } from './company.ts';

test('who is alone: nobody else has asked of late', () => {
  let now = 0;
  const company = new Company(() => now);
  assert.ok(company.isAlone('alice'), 'nobody has asked');
  company.saw('alice');
  assert.ok(company.isAlone('alice'));
  assert.ok(!company.isAlone('bob'));
  now = 100;
  company.saw('bob');
  for (now = 101; now < 300; now += 10) company.saw('alice');
  assert.ok(!company.isAlone('alice'), 'bob was here a moment ago');
  now = 400;
  assert.ok(company.isAlone('alice'), 'bob has gone');
  company.saw('carol');
  company.saw('bob');
  assert.deepEqual(
    ['alice', 'bob', 'carol'].filter((flow) => company.isAlone(flow)),
    [],
  );
});
