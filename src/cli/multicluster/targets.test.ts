import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MemberEntry } from '../../multicluster/multicluster.ts';
import { aimedAt, checkTargets } from './targets.ts';

const entry = (id: string): MemberEntry => ({ id, connect: () => assert.fail('nobody connects') });

test('members that are no targets are only read; without targets all are written to', () => {
  const entries = [entry('east'), entry('west')];
  assert.equal(aimedAt(undefined, entries), entries);
  assert.deepEqual(
    aimedAt(['west'], entries).map(({ id, isReadOnly }) => [id, isReadOnly]),
    [
      ['east', true],
      ['west', false],
    ],
  );
});

test('a target that is no member is an error that names the members', () => {
  const file = { members: [{ id: 'east' }, { id: 'west' }] };
  checkTargets(['west'], file, 'members.yaml');
  assert.throws(() => checkTargets(['north'], file, 'members.yaml'), {
    message: '--target north is no member: members.yaml has east, west',
  });
});
