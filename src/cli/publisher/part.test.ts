import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leaseName } from './part.ts';

test('publishers of different owners have different Leases', () => {
  const owners = ['default', 'east', 'East', 'a-b', 'a.b', 'a_b', 'A_b'];
  const names = owners.map((ownerId) => leaseName({ ownerId }));
  assert.deepEqual(names.slice(0, 2), ['fairlead-publisher', 'fairlead-publisher-east']);
  assert.equal(new Set(names).size, owners.length);
  for (const name of names) assert.match(name, /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/);
});
