import assert from 'node:assert/strict';
import { test } from 'node:test';

import { OwnershipGraph } from './graph.ts';
import type { Given } from './testing/object.ts';
import { blockingRef, object, ref } from './testing/object.ts';

/** A change of the graph and the affected objects. */
type Change = readonly [change: Given | { readonly removed: string }, affected: readonly string[]];

const waiting = { isTerminating: true, finalizers: ['foregroundDeletion'] };
const orphaning = { isTerminating: true, finalizers: ['orphan'] };

const rows: readonly { readonly name: string; readonly changes: readonly Change[]; readonly size: number }[] = [
  { name: 'an object without owners affects no object', changes: [[object('a'), []]], size: 1 },
  {
    name: 'a new object with owners is affected; its virtual owner is added',
    changes: [[object('b', { owners: [ref('a')] }), ['b']]],
    size: 2,
  },
  {
    name: 'an owner that matches its references affects no object',
    changes: [
      [object('b', { owners: [ref('a')] }), ['b']],
      [object('a'), []],
    ],
    size: 2,
  },
  {
    name: 'an owner in another namespace affects its dependents',
    changes: [
      [object('b', { owners: [ref('a')] }), ['b']],
      [object('c', { owners: [ref('a')], namespace: 'bank' }), ['c']],
      [object('a', { namespace: 'bank' }), ['b']],
      [{ removed: 'a' }, ['c']],
    ],
    size: 3,
  },
  {
    name: 'a change unrelated to owners affects no object',
    changes: [
      [object('a'), []],
      [object('b', { owners: [ref('a')] }), ['b']],
      [object('b', { owners: [ref('a', { controller: true })], resourceVersion: '2' }), []],
      [object('a', { resourceVersion: '3', isTerminating: true, finalizers: ['example.org/hold'] }), []],
    ],
    size: 2,
  },
  {
    name: 'a deleted owner affects its dependents, and stays until they are gone',
    changes: [
      [object('a'), []],
      [object('b', { owners: [ref('a')] }), ['b']],
      [object('c', { owners: [ref('a')] }), ['c']],
      [{ removed: 'a' }, ['b', 'c']],
      [{ removed: 'b' }, []],
      [object('c', { resourceVersion: '2' }), ['c']],
    ],
    size: 1,
  },
  {
    name: 'removes a virtual owner with the last reference to it',
    changes: [
      [object('b', { owners: [ref('a')] }), ['b']],
      [{ removed: 'b' }, []],
    ],
    size: 0,
  },
  {
    name: 'a foreground deletion affects all dependents, and the owner again when the last blocking one is gone',
    changes: [
      [object('a'), []],
      [object('b', { owners: [blockingRef('a')] }), ['b']],
      [object('c', { owners: [blockingRef('a')] }), ['c']],
      [object('d', { owners: [ref('a')] }), ['d']],
      [object('a', waiting), ['a', 'b', 'c', 'd']],
      [object('a', { ...waiting, resourceVersion: '2' }), []],
      [{ removed: 'b' }, []],
      [object('c', { owners: [ref('a')] }), ['a', 'c']],
    ],
    size: 3,
  },
  {
    name: 'an owner that is first observed during its foreground deletion affects its dependents',
    changes: [
      [object('b', { owners: [ref('a')] }), ['b']],
      [object('a', waiting), ['a', 'b']],
    ],
    size: 2,
  },
  {
    name: 'orphaning affects all dependents, and the owner again when the last reference is removed',
    changes: [
      [object('a'), []],
      [object('b', { owners: [ref('a')] }), ['b']],
      [object('c', { owners: [ref('a')] }), ['c']],
      [object('a', orphaning), ['a', 'b', 'c']],
      [object('b'), ['b']],
      [object('c'), ['a', 'c']],
      [{ removed: 'a' }, []],
    ],
    size: 2,
  },
  {
    name: 'removes an object that owns itself',
    changes: [
      [object('a', { owners: [blockingRef('a')] }), ['a']],
      [{ removed: 'a' }, []],
    ],
    size: 0,
  },
  { name: 'the deletion of an unknown object affects no object', changes: [[{ removed: 'a' }, []]], size: 0 },
];

for (const { name, changes, size } of rows) {
  test(name, () => {
    const graph = new OwnershipGraph();
    for (const [change, affected] of changes) {
      const got = 'removed' in change ? graph.remove(change.removed) : graph.observe(change.type, change.metadata);
      assert.deepEqual(got.toSorted(), affected);
    }
    assert.equal(graph.size, size);
  });
}

test('a node has the newest observed revision, for planned writes', () => {
  const graph = new OwnershipGraph();
  for (const controller of [false, true]) {
    const { type, metadata } = object('b', { owners: [ref('a', { controller })], resourceVersion: `${controller}` });
    graph.observe(type, metadata);
  }
  assert.equal(graph.node('b')?.resourceVersion, 'true');
  assert.deepEqual(graph.node('b')?.owners, [ref('a', { controller: true })]);
});
