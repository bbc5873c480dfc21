import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { OwnerReference } from '../../api/metadata.ts';
import type { Action, Policy } from './action.ts';
import type { Given, Traits } from './testing/object.ts';
import { blockingRef, graphOf, knowledge, object, ref } from './testing/object.ts';
import type { Mode } from './node.ts';
import { plan } from './plan.ts';

/** What is planned for `item`, in a line each. */
interface Row {
  readonly name: string;
  readonly item: Traits;
  /** Seen before the item. */
  readonly others?: readonly Given[];
  /** UIDs deleted after everything was seen. */
  readonly gone?: readonly string[];
  readonly answers?: Readonly<Record<string, Mode | 'absent'>>;
  readonly want: readonly string[];
}

const waiting: Traits = { isTerminating: true, finalizers: ['foregroundDeletion'] };
const orphaning: Traits = { isTerminating: true, finalizers: ['orphan'] };
const dependent = (owner: OwnerReference, traits: Traits = {}): Given =>
  object('child', { owners: [owner], ...traits });

const deletes = (policy: Policy): string => `delete item ${policy} if item@1`;
const keeps = (...owners: readonly string[]): string => `patch item [${owners.join(' ')}] if item@1`;
const asks = (owner: string, namespace = 'shop'): string => `ask about ${owner} in ${namespace}`;

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
    case 'ask':
      return `ask about ${action.owner.name} in ${action.owner.namespace}`;
    case 'event':
      return `${action.reason}: ${action.message}`;
    case 'nothing':
      return action.because;
  }
}

function check(rows: readonly Row[]): void {
  for (const { name, item, others = [], gone = [], answers = {}, want } of rows) {
    test(name, () => {
      const graph = graphOf([...others, object('item', item)]);
      for (const uid of gone) graph.remove(uid);
      assert.deepEqual(plan(graph, 'item', knowledge(answers)).map(lineOf), want);
    });
  }
}

suite('an object and its owners', () => {
  check([
    { name: 'nobody owns it', item: {}, want: ['no-owners'] },
    { name: 'its owner is there', item: { owners: [ref('a')] }, others: [object('a')], want: ['owned'] },
    {
      name: 'its owner is cluster-scoped',
      item: { owners: [ref('a', { kind: 'Node' })] },
      others: [object('a', { kind: 'Node' })],
      want: ['owned'],
    },
    { name: 'it owns itself', item: { owners: [ref('item')] }, want: ['owned'] },
    {
      name: 'its owner is being deleted in the background, which keeps it until that is over',
      item: { owners: [ref('a')] },
      others: [object('a', { isTerminating: true, finalizers: ['example.org/hold'] })],
      want: ['owned'],
    },
    {
      name: 'its owner was deleted',
      item: { owners: [ref('a')] },
      others: [object('a')],
      gone: ['a'],
      want: [deletes('Background')],
    },
    {
      name: 'its owner was deleted, and it has dependents',
      item: { owners: [ref('a')] },
      others: [object('a'), dependent(ref('item'))],
      gone: ['a'],
      want: [deletes('Background')],
    },
    {
      name: 'its owner was deleted together with its kind',
      item: { owners: [ref('a', { kind: 'Lost' })] },
      others: [object('a', { kind: 'Lost' })],
      gone: ['a'],
      want: [deletes('Background')],
    },
    {
      name: 'its owner was deleted, and it bears the orphan finalizer already',
      item: { owners: [ref('a')], finalizers: ['orphan'] },
      others: [object('a')],
      gone: ['a'],
      want: [deletes('Orphan')],
    },
    {
      name: 'its owner was deleted, and it bears the foreground finalizer already',
      item: { owners: [ref('a')], finalizers: ['foregroundDeletion'] },
      others: [object('a')],
      gone: ['a'],
      want: [deletes('Foreground')],
    },
    {
      name: 'one of two owners was deleted: only the reference goes',
      item: { owners: [blockingRef('a'), ref('b')] },
      others: [object('a'), object('b')],
      gone: ['b'],
      want: [keeps('a!')],
    },
    {
      name: 'both owners were deleted',
      item: { owners: [ref('a'), ref('b')] },
      others: [object('a'), object('b')],
      gone: ['a', 'b'],
      want: [deletes('Background')],
    },
    {
      name: 'it is being deleted already',
      item: { owners: [ref('a')], isTerminating: true, finalizers: ['example.org/hold'] },
      others: [object('a')],
      gone: ['a'],
      want: ['terminating'],
    },
    { name: 'it is not there any more', item: { owners: [ref('a')] }, gone: ['item'], want: ['not-seen'] },
  ]);
});

suite('an owner that was never seen', () => {
  check([
    { name: 'is asked about where the object is', item: { owners: [ref('a')] }, want: [asks('a')] },
    {
      name: 'is asked about outside of namespaces if it is cluster-scoped',
      item: { owners: [ref('a', { kind: 'Node' })] },
      want: [asks('a', '')],
    },
    {
      name: 'is asked about even beside one that is there, to strip the reference if need be',
      item: { owners: [ref('a'), ref('b'), ref('c')] },
      others: [object('b')],
      want: [asks('a'), asks('c')],
    },
    {
      name: 'is not there',
      item: { owners: [ref('a')] },
      answers: { a: 'absent' },
      want: [deletes('Background')],
    },
    {
      name: 'is not there, but another is',
      item: { owners: [ref('a'), ref('b')] },
      others: [object('b')],
      answers: { a: 'absent' },
      want: [keeps('b')],
    },
    { name: 'is there: ask again later', item: { owners: [ref('a')] }, answers: { a: 'live' }, want: ['owner-unseen'] },
    {
      name: 'is there and waits for its dependents',
      item: { owners: [ref('a')] },
      answers: { a: 'waiting' },
      want: [deletes('Background')],
    },
    {
      name: 'is there and lets go of its dependents',
      item: { owners: [ref('a')] },
      answers: { a: 'orphaning' },
      want: [keeps()],
    },
    {
      name: 'is of a kind that nobody knows: nothing is judged',
      item: { owners: [ref('a', { kind: 'Lost' }), ref('b')] },
      others: [object('b')],
      gone: ['b'],
      want: ['unknown-owner-kind'],
    },
    {
      name: 'is another object of that name: the UID decides',
      item: { owners: [ref('a', { uid: 'older' })] },
      others: [object('a')],
      want: [asks('a')],
    },
  ]);
});

suite('a reference that misspells its owner', () => {
  check([
    {
      name: 'is looked up as it is spelled',
      item: { owners: [ref('a', { kind: 'Secret' })] },
      others: [object('a')],
      want: [asks('a')],
    },
    {
      name: 'dangles if nothing is there',
      item: { owners: [ref('a', { name: 'other' })] },
      others: [object('a')],
      answers: { a: 'absent' },
      want: [deletes('Background')],
    },
    {
      name: 'is good if the object is served under both spellings',
      item: { owners: [ref('a', { kind: 'Secret' })] },
      others: [object('a')],
      answers: { a: 'live' },
      want: ['owned'],
    },
    {
      name: 'is let go of all the same',
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
      name: 'an owner in another namespace is no owner',
      item: { owners: [ref('a')] },
      others: [object('a', { namespace: 'bank' })],
      want: [refusal('a', 'shop'), deletes('Background')],
    },
    {
      name: 'beside a true owner only the reference goes',
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
      name: 'not even when that owner was seen to go',
      item: { kind: 'Node', owners: [ref('a')] },
      others: [dependent(ref('a')), object('a')],
      gone: ['a'],
      want: [refusal('a', ''), 'unresolvable-owner'],
    },
    {
      name: 'nor when its other owners are gone',
      item: { kind: 'Node', owners: [ref('b', { kind: 'Node' }), ref('a')] },
      others: [object('b', { kind: 'Node' }), object('a')],
      gone: ['b'],
      want: [refusal('a', ''), 'unresolvable-owner'],
    },
    {
      name: 'a cluster-scoped object goes with its cluster-scoped owner',
      item: { kind: 'Node', owners: [ref('a', { kind: 'Node' })] },
      others: [object('a', { kind: 'Node' }), dependent(ref('a', { kind: 'Node' }))],
      gone: ['a'],
      want: [deletes('Background')],
    },
    {
      name: 'a foreign object does not hold up a foreground deletion',
      item: waiting,
      others: [dependent(blockingRef('item'), { namespace: 'bank' })],
      want: ['finalizers of item [] if item@1'],
    },
    {
      name: 'a foreign object does not hold up the letting go of dependents',
      item: orphaning,
      others: [dependent(ref('item'), { kind: 'Node' })],
      want: ['finalizers of item [] if item@1'],
    },
  ]);
});

suite('foreground deletion', () => {
  check([
    { name: 'ends when there are no dependents', item: waiting, want: ['finalizers of item [] if item@1'] },
    {
      name: 'leaves the finalizers of others',
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
      name: 'ends when the last blocking dependent has gone',
      item: waiting,
      others: [dependent(blockingRef('item'))],
      gone: ['child'],
      want: ['finalizers of item [] if item@1'],
    },
    {
      name: 'takes a dependent along',
      item: { owners: [blockingRef('a')] },
      others: [object('a', waiting)],
      want: [deletes('Background')],
    },
    {
      name: 'takes a dependent along that does not block it',
      item: { owners: [ref('a')] },
      others: [object('a', waiting)],
      want: [deletes('Background')],
    },
    {
      name: 'goes on below a dependent that has dependents',
      item: { owners: [blockingRef('a')] },
      others: [object('a', waiting), dependent(ref('item'))],
      want: [deletes('Foreground')],
    },
    {
      name: 'goes on even if the orphan finalizer was put on the dependent',
      item: { owners: [blockingRef('a')], finalizers: ['orphan'] },
      others: [object('a', waiting), dependent(ref('item'))],
      want: [deletes('Foreground')],
    },
    {
      name: 'lets go of a dependent that has another owner',
      item: { owners: [blockingRef('a'), ref('b'), ref('c')] },
      others: [object('a', waiting), object('b'), object('c')],
      gone: ['c'],
      want: [keeps('b')],
    },
    {
      name: 'takes along what has only waiting and deleted owners',
      item: { owners: [blockingRef('a'), ref('b')] },
      others: [object('a', waiting), object('b')],
      gone: ['b'],
      want: [deletes('Background')],
    },
    {
      name: 'of a ring opens it',
      item: { owners: [blockingRef('b')], ...waiting },
      others: [
        object('a', { owners: [blockingRef('item')], ...waiting }),
        object('b', { owners: [blockingRef('a')], ...waiting }),
      ],
      want: [keeps('b')],
    },
    {
      name: 'of an object that owns itself opens that ring too',
      item: { owners: [blockingRef('item')], ...waiting },
      want: [keeps('item')],
    },
    {
      name: 'of a chain is no ring',
      item: { owners: [blockingRef('a')], ...waiting },
      others: [object('a', waiting), object('child', { owners: [blockingRef('item')], ...waiting })],
      want: ['waiting-for-dependents'],
    },
    {
      name: 'under a ring is no part of it',
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
    { name: 'ends when there are no dependents', item: orphaning, want: ['finalizers of item [] if item@1'] },
    {
      name: 'waits until all dependents are let go of',
      item: orphaning,
      others: [dependent(ref('item'))],
      want: ['orphaning-dependents'],
    },
    {
      name: 'takes the reference off',
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
      name: 'saves the object from owners that are gone or wait',
      item: { owners: [ref('a'), ref('b'), ref('c')] },
      others: [object('a', orphaning), object('b', waiting), object('c')],
      gone: ['c'],
      want: [keeps()],
    },
    {
      name: 'does not wait for what is yet to be asked',
      item: { owners: [ref('a'), ref('b')] },
      others: [object('a', orphaning)],
      want: [keeps('b')],
    },
    {
      name: 'takes the reference off an object that is being deleted',
      item: { owners: [ref('a')], isTerminating: true, finalizers: ['example.org/hold'] },
      others: [object('a', orphaning)],
      want: [keeps()],
    },
    {
      name: 'comes first if both finalizers are there',
      item: { isTerminating: true, finalizers: ['foregroundDeletion', 'orphan'] },
      want: ['finalizers of item [foregroundDeletion] if item@1'],
    },
  ]);
});

test('a name that the graph has never heard of asks for nothing', () => {
  assert.deepEqual(plan(graphOf([]), 'item', knowledge()).map(lineOf), ['not-seen']);
});

test('a lookup that found nothing answers for all dependents and is not repeated', () => {
  const graph = graphOf([object('item', { owners: [ref('a')] }), object('child', { owners: [ref('a')] })]);
  const [question] = plan(graph, 'item', knowledge());
  assert.ok(question?.type === 'ask');
  assert.deepEqual(graph.confirmAbsent(question.owner), ['item', 'child']);
  for (const uid of ['item', 'child']) assert.equal(plan(graph, uid, knowledge())[0]?.type, 'delete');
});

test('a lookup at one place says nothing about another', () => {
  const graph = graphOf([
    object('item', { owners: [ref('a')] }),
    object('child', { owners: [ref('a')], namespace: 'bank' }),
    object('third', { owners: [ref('a', { name: 'b' })] }),
  ]);
  assert.deepEqual(graph.confirmAbsent({ ...ref('a'), namespace: 'bank' }), ['child']);
  assert.deepEqual(plan(graph, 'child', knowledge()).map(lineOf), ['delete child Background if child@1']);
  assert.deepEqual(plan(graph, 'item', knowledge()).map(lineOf), [asks('a')]);
  assert.deepEqual(plan(graph, 'third', knowledge()).map(lineOf), [asks('b')]);
});
