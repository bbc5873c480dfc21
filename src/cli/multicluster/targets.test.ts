import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MemberEntry } from '../../multicluster/multicluster.ts';
import { withTargets, checkTargets } from './part.ts';

const entry = (id: string): MemberEntry => ({ id, connect: () => assert.fail('nobody connects') });

test('members that are not targets are only read; without --targets all are written to', () => {
  const entries = [entry('east'), entry('west')];
  assert.equal(withTargets(undefined, entries), entries);
  assert.deepEqual(
    withTargets(['west'], entries).map(({ id, isReadOnly }) => [id, isReadOnly]),
    [
      ['east', true],
      ['west', false],
    ],
  );
});

test('a target that is not a member is an error that names the members', () => {
  const file = { members: [{ id: 'east' }, { id: 'west' }] };
  checkTargets(['west'], file, 'members.yaml');
  assert.throws(() => checkTargets(['north'], file, 'members.yaml'), {
    message: '--target north is not a member: members.yaml has east, west',
  });
});
