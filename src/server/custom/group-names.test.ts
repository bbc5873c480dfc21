import assert from 'node:assert/strict';
import { test } from 'node:test';

import { GroupNames } from './group-names.ts';

const names = (plural: string, kind: string, shortNames: readonly string[] = []) => ({
  plural,
  singular: kind.toLowerCase(),
  kind,
  listKind: `${kind}List`,
  shortNames,
});

test('names of other definitions are taken, and own ones are not', () => {
  const group = new GroupNames();
  group.set('as', names('as', 'A', ['x']), false);
  const taken = group.takenFor('bs');
  assert.ok(['as', 'a', 'x'].every(taken.hasResource));
  assert.ok(['A', 'AList'].every(taken.hasKind));
  const own = group.takenFor('as');
  assert.ok(!['as', 'a', 'x', 'bs'].some(own.hasResource));
  assert.ok(!['A', 'AList', 'B'].some(own.hasKind));
});

test('a name that two definitions have is taken for both, until one of them loses it', () => {
  const group = new GroupNames();
  group.set('as', names('as', 'A', ['x']), false);
  group.set('bs', names('bs', 'B', ['x']), true);
  assert.ok(group.takenFor('as').hasResource('x') && group.takenFor('bs').hasResource('x'));
  assert.deepEqual([...group.waiting], ['bs']);
  group.set('as', names('as', 'A'), false);
  assert.ok(!group.takenFor('bs').hasResource('x'));
  assert.ok(group.delete('bs'));
  assert.ok(!group.delete('bs'));
  assert.ok(!group.takenFor('as').hasResource('x'));
  assert.equal(group.waiting.size, 0);
  group.delete('as');
  assert.ok(group.isEmpty);
});
