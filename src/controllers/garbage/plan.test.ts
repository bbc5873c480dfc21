import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { OwnerReference } from '../../api/metadata.ts';
import type { Action, Policy } from './action.ts';
import type { Given, Traits } from './testing/object.ts';
import { blockingRef, graphOf, lookupWith, object, ref } from './testing/object.ts';
import type { Mode } from './node.ts';
import { plan } from './plan.ts';

/** The planned actions for `item`, one per line. */
interface Row {
  readonly name: string;
  readonly item: Traits;
  /** Observed before the item. */
  readonly others?: readonly Given[];
  /** UIDs deleted afterwards. */
  readonly deleted?: readonly string[];
  readonly results?: Readonly<Record<string, Mode | 'absent'>>;
  readonly want: readonly string[];
}

const waiting: Traits = { isTerminating: true, finalizers: ['foregroundDeletion'] };
const orphaning: Traits = { isTerminating: true, finalizers: ['orphan'] };
const dependent = (owner: OwnerReference, traits: Traits = {}): Given =>
  object('child', { owners: [owner], ...traits });

const deletes = (policy: Policy): string => `delete item ${policy} if item@1`;
const keeps = (...owners: readonly string[]): string => `patch item [${owners.join(' ')}] if item@1`;
const looksUp = (owner: string, namespace = 'shop'): string => `look up ${owner} in ${namespace}`;

function lineOf(action: Action): string {
  switch (action.type) {
    case 'delete': {
      const { propagationPolicy, preconditions } = action.options;
      const { uid, resourceVersion } = preconditions;
      return `delete ${action.target.name} ${propagationPolicy} if ${uid}@${resourceVersion}`;
    }
    case 'patch-owners': {
      const { uid, resourceVersion, ownerReferences } = action.body.metadata;
      const left = ownerReferences.map((owner) => `${owner.name}${owner.blockOwnerDeletion === true ? '!' : ''}`);
      return `patch ${action.target.name} [${left.join(' ')}] if ${uid}@${resourceVersion}`;
    }
    case 'remove-finalizer': {
      const { uid, resourceVersion, finalizers } = action.body.metadata;
      return `finalizers of ${action.target.name} [${finalizers.join(' ')}] if ${uid}@${resourceVersion}`;
    }
    case 'lookup':
      return `look up ${action.owner.name} in ${action.owner.namespace}`;
    case 'event':
      return `${action.reason}: ${action.message}`;
    case 'nothing':
      return action.because;
  }
}

function check(rows: readonly Row[]): void {
  for (const { name, item, others = [], deleted = [], results = {}, want } of rows) {
    test(name, () => {
      const graph = graphOf([...others, object('item', item)]);
      for (const uid of deleted) graph.remove(uid);
      assert.deepEqual(plan(graph, 'item', lookupWith(results)).map(lineOf), want);
    });
  }
}

suite('an object and its owners', () => {
  check([
    { name: 'it has no owner', item: {}, want: ['no-owners'] },
    { name: 'its owner exists', item: { owners: [ref('a')] }, others: [object('a')], want: ['owned'] },
    {
      name: 'its owner is cluster-scoped',
      item: { owners: [ref('a', { kind: 'Node' })] },
      others: [object('a', { kind: 'Node' })],
      want: ['owned'],
    },
    { name: 'it owns itself', item: { owners: [ref('item')] }, want: ['owned'] },
    {
      name: 'its owner is being deleted in the background: keep it until the owner is gone',
      item: { owners: [ref('a')] },
      others: [object('a', { isTerminating: true, finalizers: ['example.org/hold'] })],
      want: ['owned'],
    },
    {
      name: 'its owner was deleted',
      item: { owners: [ref('a')] },
      others: [object('a')],
      deleted: ['a'],
      want: [deletes('Background')],
    },
    {
      name: 'its owner was deleted, and it has dependents',
      item: { owners: [ref('a')] },
      others: [object('a'), dependent(ref('item'))],
      deleted: ['a'],
      want: [deletes('Background')],
    },
    {
      name: 'its owner was deleted together with its kind',
      item: { owners: [ref('a', { kind: 'Lost' })] },
      others: [object('a', { kind: 'Lost' })],
      deleted: ['a'],
      want: [deletes('Background')],
    },
    {
      name: 'its owner was deleted, and it has the orphan finalizer',
      item: { owners: [ref('a')], finalizers: ['orphan'] },
      others: [object('a')],
      deleted: ['a'],
      want: [deletes('Orphan')],
    },
    {
      name: 'its owner was deleted, and it has the foreground finalizer',
      item: { owners: [ref('a')], finalizers: ['foregroundDeletion'] },
      others: [object('a')],
      deleted: ['a'],
      want: [deletes('Foreground')],
    },
    {
      name: 'one of two owners was deleted: remove the reference',
      item: { owners: [blockingRef('a'), ref('b')] },
      others: [object('a'), object('b')],
      deleted: ['b'],
      want: [keeps('a!')],
    },
    {
      name: 'both owners were deleted',
      item: { owners: [ref('a'), ref('b')] },
      others: [object('a'), object('b')],
      deleted: ['a', 'b'],
      want: [deletes('Background')],
    },
    {
      name: 'it is being deleted already',
      item: { owners: [ref('a')], isTerminating: true, finalizers: ['example.org/hold'] },
      others: [object('a')],
      deleted: ['a'],
      want: ['terminating'],
    },
    { name: 'it no longer exists', item: { owners: [ref('a')] }, deleted: ['item'], want: ['not-observed'] },
  ]);
});

suite('an owner that was never seen', () => {
  check([
    { name: 'is looked up in the namespace of the object', item: { owners: [ref('a')] }, want: [looksUp('a')] },
    {
      name: 'is looked up without a namespace if it is cluster-scoped',
      item: { owners: [ref('a', { kind: 'Node' })] },
      want: [looksUp('a', '')],
    },
    {
      name: 'is looked up even if another owner exists, to remove the reference if necessary',
      item: { owners: [ref('a'), ref('b'), ref('c')] },
      others: [object('b')],
      want: [looksUp('a'), looksUp('c')],
    },
    {
      name: 'does not exist',
      item: { owners: [ref('a')] },
      results: { a: 'absent' },
      want: [deletes('Background')],
    },
    {
      name: 'does not exist, but another owner does',
      item: { owners: [ref('a'), ref('b')] },
      others: [object('b')],
      results: { a: 'absent' },
      want: [keeps('b')],
    },
    {
      name: 'exists: look up again later',
      item: { owners: [ref('a')] },
      results: { a: 'live' },
      want: ['owner-not-observed'],
    },
    {
      name: 'exists and waits for its dependents',
      item: { owners: [ref('a')] },
      results: { a: 'waiting' },
      want: [deletes('Background')],
    },
    {
      name: 'exists and orphans its dependents',
      item: { owners: [ref('a')] },
      results: { a: 'orphaning' },
      want: [keeps()],
    },
    {
      name: 'is of an unknown kind: nothing is decided',
      item: { owners: [ref('a', { kind: 'Lost' }), ref('b')] },
      others: [object('b')],
      deleted: ['b'],
      want: ['unknown-owner-kind'],
    },
    {
      name: 'is another object of that name: the UID decides',
      item: { owners: [ref('a', { uid: 'older' })] },
      others: [object('a')],
      want: [looksUp('a')],
    },
  ]);
});

suite('a reference that misspells its owner', () => {
  check([
    {
      name: 'is looked up as referenced',
      item: { owners: [ref('a', { kind: 'Secret' })] },
      others: [object('a')],
      want: [looksUp('a')],
    },
    {
      name: 'dangles if the lookup finds nothing',
      item: { owners: [ref('a', { name: 'other' })] },
      others: [object('a')],
      results: { a: 'absent' },
      want: [deletes('Background')],
    },
    {
      name: 'is solid if the object is served with both API versions',
      item: { owners: [ref('a', { kind: 'Secret' })] },
      others: [object('a')],
      results: { a: 'live' },
      want: ['owned'],
    },
    {
      name: 'is removed when the owner orphans its dependents',
      item: { owners: [ref('a', { name: 'other' })] },
      others: [object('a', orphaning)],
      want: [keeps()],
    },
  ]);
});

suite('namespaces', () => {
  const refusal = (uid: string, namespace: string, kind = 'ConfigMap'): string =>
    `OwnerRefInvalidNamespace: ownerRef [v1/${kind}, namespace: ${namespace}, name: ${uid}, uid: ${uid}] ` +
    `does not exist in namespace "${namespace}"`;
  check([
    {
      name: 'an owner in another namespace does not keep the object',
      item: { owners: [ref('a')] },
      others: [object('a', { namespace: 'bank' })],
      want: [refusal('a', 'shop'), deletes('Background')],
    },
    {
      name: 'with another solid owner only the reference is removed',
      item: { owners: [ref('a'), ref('b')] },
      others: [object('a', { namespace: 'bank' }), object('b')],
      want: [refusal('a', 'shop'), keeps('b')],
    },
    {
      name: 'a cluster-scoped object with an owner of a namespaced kind is never collected',
      item: { kind: 'Node', owners: [ref('a')] },
      want: [refusal('a', ''), 'unresolvable-owner'],
    },
    {
      name: 'not even if the deletion of that owner was observed',
      item: { kind: 'Node', owners: [ref('a')] },
      others: [dependent(ref('a')), object('a')],
      deleted: ['a'],
      want: [refusal('a', ''), 'unresolvable-owner'],
    },
    {
      name: 'nor if its other owners are gone',
      item: { kind: 'Node', owners: [ref('b', { kind: 'Node' }), ref('a')] },
      others: [object('b', { kind: 'Node' }), object('a')],
      deleted: ['b'],
      want: [refusal('a', ''), 'unresolvable-owner'],
    },
    {
      name: 'a cluster-scoped object is deleted with its cluster-scoped owner',
      item: { kind: 'Node', owners: [ref('a', { kind: 'Node' })] },
      others: [object('a', { kind: 'Node' }), dependent(ref('a', { kind: 'Node' }))],
      deleted: ['a'],
      want: [deletes('Background')],
    },
    {
      name: 'an object in another namespace does not block a foreground deletion',
      item: waiting,
      others: [dependent(blockingRef('item'), { namespace: 'bank' })],
      want: ['finalizers of item [] if item@1'],
    },
    {
      name: 'an object in another namespace does not block orphaning',
      item: orphaning,
      others: [dependent(ref('item'), { kind: 'Node' })],
      want: ['finalizers of item [] if item@1'],
    },
  ]);
});

suite('foreground deletion', () => {
  check([
    { name: 'completes without dependents', item: waiting, want: ['finalizers of item [] if item@1'] },
    {
      name: 'keeps foreign finalizers',
      item: { isTerminating: true, finalizers: ['example.org/a', 'foregroundDeletion', 'example.org/b'] },
      want: ['finalizers of item [example.org/a example.org/b] if item@1'],
    },
    {
      name: 'waits for a dependent that blocks it',
      item: waiting,
      others: [dependent(blockingRef('item'))],
      want: ['waiting-for-dependents'],
    },
    {
      name: 'waits for a dependent that is terminating',
      item: waiting,
      others: [dependent(blockingRef('item'), { isTerminating: true, finalizers: ['example.org/hold'] })],
      want: ['waiting-for-dependents'],
    },
    {
      name: 'does not wait for one that does not block it',
      item: waiting,
      others: [dependent(ref('item'))],
      want: ['finalizers of item [] if item@1'],
    },
    {
      name: 'completes when the last blocking dependent is gone',
      item: waiting,
      others: [dependent(blockingRef('item'))],
      deleted: ['child'],
      want: ['finalizers of item [] if item@1'],
    },
    {
      name: 'deletes a dependent',
      item: { owners: [blockingRef('a')] },
      others: [object('a', waiting)],
      want: [deletes('Background')],
    },
    {
      name: 'deletes a dependent that does not block it',
      item: { owners: [ref('a')] },
      others: [object('a', waiting)],
      want: [deletes('Background')],
    },
    {
      name: 'continues in the foreground for a dependent with dependents',
      item: { owners: [blockingRef('a')] },
      others: [object('a', waiting), dependent(ref('item'))],
      want: [deletes('Foreground')],
    },
    {
      name: 'continues even if the dependent has the orphan finalizer',
      item: { owners: [blockingRef('a')], finalizers: ['orphan'] },
      others: [object('a', waiting), dependent(ref('item'))],
      want: [deletes('Foreground')],
    },
    {
      name: 'removes the reference of a dependent with another owner',
      item: { owners: [blockingRef('a'), ref('b'), ref('c')] },
      others: [object('a', waiting), object('b'), object('c')],
      deleted: ['c'],
      want: [keeps('b')],
    },
    {
      name: 'deletes an object that has only waiting and deleted owners',
      item: { owners: [blockingRef('a'), ref('b')] },
      others: [object('a', waiting), object('b')],
      deleted: ['b'],
      want: [deletes('Background')],
    },
    {
      name: 'of a cycle breaks the cycle',
      item: { owners: [blockingRef('b')], ...waiting },
      others: [
        object('a', { owners: [blockingRef('item')], ...waiting }),
        object('b', { owners: [blockingRef('a')], ...waiting }),
      ],
      want: [keeps('b')],
    },
    {
      name: 'of an object that owns itself breaks that cycle',
      item: { owners: [blockingRef('item')], ...waiting },
      want: [keeps('item')],
    },
    {
      name: 'of a chain is no cycle',
      item: { owners: [blockingRef('a')], ...waiting },
      others: [object('a', waiting), object('child', { owners: [blockingRef('item')], ...waiting })],
      want: ['waiting-for-dependents'],
    },
    {
      name: 'below a cycle is not part of it',
      item: { owners: [blockingRef('a')], ...waiting },
      others: [
        object('a', { owners: [blockingRef('b')], ...waiting }),
        object('b', { owners: [blockingRef('a')], ...waiting }),
        dependent(blockingRef('item')),
      ],
      want: ['waiting-for-dependents'],
    },
  ]);
});

suite('orphaning', () => {
  check([
    { name: 'completes without dependents', item: orphaning, want: ['finalizers of item [] if item@1'] },
    {
      name: 'waits until all references are removed',
      item: orphaning,
      others: [dependent(ref('item'))],
      want: ['orphaning-dependents'],
    },
    {
      name: 'removes the reference',
      item: { owners: [ref('a'), blockingRef('b')] },
      others: [object('a', orphaning), object('b')],
      want: [keeps('b!')],
    },
    {
      name: 'leaves the object without owners',
      item: { owners: [ref('a')] },
      others: [object('a', orphaning)],
      want: [keeps()],
    },
    {
      name: 'keeps the object although other owners are gone or waiting',
      item: { owners: [ref('a'), ref('b'), ref('c')] },
      others: [object('a', orphaning), object('b', waiting), object('c')],
      deleted: ['c'],
      want: [keeps()],
    },
    {
      name: 'does not wait for lookups of other owners',
      item: { owners: [ref('a'), ref('b')] },
      others: [object('a', orphaning)],
      want: [keeps('b')],
    },
    {
      name: 'removes the reference of an object that is being deleted',
      item: { owners: [ref('a')], isTerminating: true, finalizers: ['example.org/hold'] },
      others: [object('a', orphaning)],
      want: [keeps()],
    },
    {
      name: 'has precedence if both finalizers exist',
      item: { isTerminating: true, finalizers: ['foregroundDeletion', 'orphan'] },
      want: ['finalizers of item [foregroundDeletion] if item@1'],
    },
  ]);
});

test('plans nothing for an unknown UID', () => {
  assert.deepEqual(plan(graphOf([]), 'item', lookupWith()).map(lineOf), ['not-observed']);
});

test('a lookup that found nothing applies to all dependents and is not repeated', () => {
  const graph = graphOf([object('item', { owners: [ref('a')] }), object('child', { owners: [ref('a')] })]);
  const [question] = plan(graph, 'item', lookupWith());
  assert.ok(question?.type === 'lookup');
  assert.deepEqual(graph.confirmAbsent(question.owner), ['item', 'child']);
  for (const uid of ['item', 'child']) assert.equal(plan(graph, uid, lookupWith())[0]?.type, 'delete');
});

test('a lookup applies only to the same kind, namespace and name', () => {
  const graph = graphOf([
    object('item', { owners: [ref('a')] }),
    object('child', { owners: [ref('a')], namespace: 'bank' }),
    object('third', { owners: [ref('a', { name: 'b' })] }),
  ]);
  assert.deepEqual(graph.confirmAbsent({ ...ref('a'), namespace: 'bank' }), ['child']);
  assert.deepEqual(plan(graph, 'child', lookupWith()).map(lineOf), ['delete child Background if child@1']);
  assert.deepEqual(plan(graph, 'item', lookupWith()).map(lineOf), [looksUp('a')]);
  assert.deepEqual(plan(graph, 'third', lookupWith()).map(lineOf), [looksUp('b')]);
});
