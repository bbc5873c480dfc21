import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { Binding, Subject } from '../../../api/kinds/rbac/binding.ts';
import type { Grant } from './grants.ts';
import { describeGrant, GrantIndex, grantsOf } from './grants.ts';

const binding = (namespace: string, subjects: readonly Subject[], kind = 'ClusterRole'): Binding => ({
  metadata: { name: 'b', ...(namespace === '' ? {} : { namespace }) },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: 'r' },
  subjects,
});
const person = (name: string): Subject => ({ kind: 'User', name });
const team = (name: string): Subject => ({ kind: 'Group', name });

/** The grants that a lookup for a user visits. */
function seenBy(index: GrantIndex, name: string, groups: readonly string[] = []): Grant[] {
  const seen: Grant[] = [];
  index.find({ name, uid: '', groups }, (grant) => {
    seen.push(grant);
    return false;
  });
  return seen;
}

describe('grants', () => {
  test('are found by holder without visiting those of others', () => {
    const index = new GrantIndex();
    for (let at = 0; at < 1000; at++) {
      for (const grant of grantsOf(binding('', [person(`user-${at}`), team(`team-${at}`)]))) index.add(grant);
    }
    assert.equal(seenBy(index, 'user-7', ['team-8', 'team-9', 'team-x']).length, 3);
    assert.equal(seenBy(index, 'team-7', ['user-8']).length, 0);
  });

  test('can be removed without a trace', () => {
    const index = new GrantIndex();
    const grants = grantsOf(binding('', [person('a'), person('a'), team('a')]));
    for (const grant of grants) index.add(grant);
    assert.equal(seenBy(index, 'a', ['a']).length, 3);
    for (const grant of grants) index.remove(grant);
    assert.equal(seenBy(index, 'a', ['a']).length, 0);
    assert.ok(index.isEmpty);
  });

  test('stops at the first match', () => {
    const index = new GrantIndex();
    for (const grant of grantsOf(binding('', [person('a'), team('a')]))) index.add(grant);
    let looks = 0;
    const found = index.find({ name: 'a', uid: '', groups: ['a'] }, () => ++looks === 1);
    assert.deepEqual([found?.subject.kind, looks], ['User', 1]);
  });

  const described: readonly { given: Binding; want: string }[] = [
    { given: binding('', [person('u')]), want: 'ClusterRoleBinding "b" of ClusterRole "r" to User "u"' },
    { given: binding('n', [team('g')], 'Role'), want: 'RoleBinding "b/n" of Role "r" to Group "g"' },
    {
      given: binding('n', [{ kind: 'ServiceAccount', name: 's' }]),
      want: 'RoleBinding "b/n" of ClusterRole "r" to ServiceAccount "s/n"',
    },
    {
      given: binding('n', [{ kind: 'ServiceAccount', name: 's', namespace: 'm' }]),
      want: 'RoleBinding "b/n" of ClusterRole "r" to ServiceAccount "s/m"',
    },
  ];
  for (const { given, want } of described) {
    test(want, () => assert.deepEqual(grantsOf(given).map(describeGrant), [want]));
  }
});
