import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTargets } from './part.ts';

test('a target that is not a member is an error that names the members', () => {
  const file = { members: [{ id: 'east' }, { id: 'west' }] };
  checkTargets(['west'], file, 'members.yaml');
  assert.throws(() => checkTargets(['north'], file, 'members.yaml'), {
    message: '--target north is not a member: members.yaml has east, west',
  });
});
