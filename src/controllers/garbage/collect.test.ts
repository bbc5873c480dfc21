import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import type { OwnerReference } from '../../api/metadata.ts';
import type { Action, Policy } from './action.ts';
import type { Operation } from './testing/cluster.ts';
import { hold, SimulatedCluster } from './testing/cluster.ts';
import type { Given } from './testing/object.ts';
import { graphOf, object, ref } from './testing/object.ts';

// Compares the collector with a naive model under random orders of events, plans, lookups and operations.

interface Scenario {
  readonly objects: readonly Given[];
  readonly operations: readonly Operation[];
  /** The index of the next move, modulo the number of possible moves. */
  readonly choices: readonly number[];
}

const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'] as const;

interface Draft {
  readonly kind: string;
  readonly namespace: string;
  readonly isHeld: boolean;
  readonly owners: readonly { readonly name: string; readonly blocks: boolean; readonly isMisspelled: boolean }[];
}

const draft = fc.record<Draft>({
  kind: fc.constantFrom('ConfigMap', 'ConfigMap', 'Secret', 'Node'),
  namespace: fc.constantFrom('shop', 'shop', 'shop', 'bank'),
  isHeld: fc.integer({ min: 0, max: 4 }).map((drawn) => drawn === 0),
  owners: fc.uniqueArray(
    fc.record({
      // `z` never existed.
      name: fc.constantFrom(...names, 'z'),
      blocks: fc.boolean(),
      isMisspelled: fc.integer({ min: 0, max: 9 }).map((drawn) => drawn === 0),
    }),
    { maxLength: 3, selector: ({ name }) => name },
  ),
});

function objectsFrom(drafts: readonly Draft[]): readonly Given[] {
  const kindOf = (name: string): string => drafts[names.findIndex((one) => one === name)]?.kind ?? 'ConfigMap';
  return drafts.map(({ kind, namespace, isHeld, owners }, index) => {
    // An object that is never collected would block its other owners forever, as in Kubernetes.
    const mayBlock = kind !== 'Node' || owners.every(({ name }) => kindOf(name) === 'Node');
    const references = owners.map(({ name, blocks, isMisspelled }) =>
      ref(name, {
        kind: kindOf(name),
        ...(isMisspelled ? { name: 'misspelled' } : {}),
        ...(blocks && mayBlock ? { blockOwnerDeletion: true } : {}),
      }),
    );
    return object(names[index] ?? '', {
      kind,
      namespace: kind === 'Node' ? '' : namespace,
      finalizers: isHeld ? [hold] : [],
      owners: references,
    });
  });
}

const scenario = (policies: readonly Policy[]): fc.Arbitrary<Scenario> =>
  fc.record({
    objects: fc.array(draft, { minLength: 1, maxLength: names.length }).map(objectsFrom),
    operations: fc.array(
      fc.oneof(
        fc.record({
          type: fc.constant('delete' as const),
          uid: fc.constantFrom(...names),
          policy: fc.constantFrom(...policies),
        }),
        fc.record({ type: fc.constantFrom('release' as const, 'touch' as const), uid: fc.constantFrom(...names) }),
      ),
      { maxLength: 6 },
    ),
    choices: fc.array(fc.nat({ max: 999 }), { maxLength: 80 }),
  });

const isTrueOwner = (objects: ReadonlyMap<string, Given>, dependent: Given, reference: OwnerReference): boolean => {
  const owner = objects.get(reference.uid);
  const { namespace = '', name } = owner?.metadata ?? {};
  const isThere = owner?.type.kind === reference.kind && name === reference.name;
  return isThere && (namespace === '' || namespace === dependent.metadata.namespace);
};

const isImmortal = ({ type, metadata }: Given): boolean =>
  type.kind === 'Node' && (metadata.ownerReferences ?? []).some(({ kind }) => kind !== 'Node');

/** Runs until no move is possible; foreign finalizers are removed in the end. */
function run({ operations, choices }: Scenario, cluster: SimulatedCluster): void {
  const pending = [...operations];
  const drawn = choices.values();
  for (let steps = 0; ; steps += 1) {
    assert.ok(steps < 3000, 'it does not come to rest');
    const operation = pending[0];
    const moves = [
      ...cluster.moves(),
      ...(operation === undefined ? [] : [() => (pending.shift(), cluster.operate(operation))]),
    ];
    // After the random choices, moves alternate, so that a repeated lookup does not starve a watch.
    const choice = drawn.next().value ?? steps;
    const move = moves[choice % moves.length];
    if (move !== undefined) move();
    else if (!releaseOne(cluster)) return;
  }
}

function releaseOne(cluster: SimulatedCluster): boolean {
  const held = cluster.objects.values().find(({ metadata }) => metadata.finalizers?.includes(hold) === true);
  if (held !== undefined) cluster.operate({ type: 'release', uid: held.metadata.uid ?? '' });
  return held !== undefined;
}

/** The closure of a set. */
function closure(objects: readonly Given[], start: Iterable<string>, joins: (one: Given, set: Set<string>) => boolean) {
  const set = new Set(start);
  for (let size = -1; size !== set.size;) {
    size = set.size;
    for (const one of objects) if (joins(one, set)) set.add(one.metadata.uid ?? '');
  }
  return set;
}

/** Objects that must and that may be deleted. They differ in objects that some owners orphan and others delete. */
function fates(objects: readonly Given[], deleted: ReadonlyMap<string, Policy>) {
  const initial = new Map(objects.map((one) => [one.metadata.uid ?? '', one]));
  const letsGo = (uid: string): boolean => deleted.get(uid) === 'Orphan';
  const takes = (one: Given, set: Set<string>) => (reference: OwnerReference) =>
    !isTrueOwner(initial, one, reference) || (set.has(reference.uid) && !letsGo(reference.uid));
  const mustGo = closure(objects, deleted.keys(), (one, set) => {
    const { ownerReferences: owners = [] } = one.metadata;
    // A mismatching reference to an orphaning owner is removed or dangles, depending on the order.
    const isTaken = takes(one, set);
    return owners.length > 0 && !isImmortal(one) && owners.every((owner) => isTaken(owner) && !letsGo(owner.uid));
  });
  const mayGo = closure(objects, deleted.keys(), (one, set) => {
    const { ownerReferences: owners = [] } = one.metadata;
    const isTaken = takes(one, set);
    return !isImmortal(one) && owners.some(isTaken) && owners.every((owner) => isTaken(owner) || letsGo(owner.uid));
  });
  return { mustGo, mayGo };
}

/** Fails if an object is deleted that has a live owner. */
function neverDeletesOwned(cluster: SimulatedCluster, action: Action): void {
  if (action.type !== 'delete') return;
  const target = cluster.objects.get(action.target.uid);
  if (target?.metadata.resourceVersion !== action.options.preconditions.resourceVersion) return;
  const alive = (target.metadata.ownerReferences ?? []).filter(
    (reference) =>
      isTrueOwner(cluster.objects, target, reference) &&
      cluster.objects.get(reference.uid)?.metadata.deletionTimestamp === undefined,
  );
  assert.deepEqual(alive, [], `${action.target.uid} is deleted although it has owners`);
}

/** Fails if a foreground deletion completes before an object that blocks it. */
function endsAfterDependents(cluster: SimulatedCluster, action: Action): void {
  if (action.type !== 'remove-finalizer') return;
  const owner = cluster.objects.get(action.target.uid);
  if (owner?.metadata.finalizers?.includes('foregroundDeletion') !== true) return;
  const left = [...cluster.objects.values()].filter((one) =>
    (one.metadata.ownerReferences ?? []).some(
      (reference) =>
        reference.uid === action.target.uid &&
        reference.blockOwnerDeletion === true &&
        (owner.metadata.namespace ?? one.metadata.namespace) === one.metadata.namespace,
    ),
  );
  assert.deepEqual(left, [], `${action.target.uid} goes before what it waits for`);
}

const isUnblocking = (cluster: SimulatedCluster, action: Action): boolean =>
  action.type === 'patch-owners' &&
  action.body.metadata.ownerReferences.some(
    ({ uid, blockOwnerDeletion }) =>
      blockOwnerDeletion === false &&
      cluster.objects.get(action.target.uid)?.metadata.ownerReferences?.some((owner) => owner.uid === uid),
  );

test('leaves the same objects as the naive model in any order of events', () => {
  fc.assert(
    fc.property(scenario(['Background', 'Foreground']), (given) => {
      const cluster = new SimulatedCluster(given.objects);
      cluster.onAction = (action) => neverDeletesOwned(cluster, action);
      run(given, cluster);
      const { mustGo } = fates(given.objects, cluster.deletedByUsers);
      const left = given.objects.filter(({ metadata }) => !mustGo.has(metadata.uid ?? ''));
      assert.deepEqual(new Set(cluster.objects.keys()), new Set(left.map(({ metadata }) => metadata.uid)));
      for (const one of left.filter((survivor) => !isImmortal(survivor))) {
        const { uid = '', ownerReferences = [] } = one.metadata;
        assert.deepEqual(
          cluster.objects.get(uid)?.metadata.ownerReferences?.map((owner) => owner.uid) ?? [],
          ownerReferences.filter((owner) => isTrueOwner(cluster.objects, one, owner)).map((owner) => owner.uid),
          `the owners of ${uid}`,
        );
      }
      // The graph contains only existing objects and the owners that they refer to.
      assert.ok(cluster.graph.size <= graphOf([...cluster.objects.values()]).size);
    }),
    { numRuns: 1500 },
  );
});

test('keeps orphaned objects, and completes foreground deletions last', () => {
  fc.assert(
    fc.property(scenario(['Background', 'Foreground', 'Orphan']), (given) => {
      const cluster = new SimulatedCluster(given.objects);
      cluster.onAction = (action) => {
        neverDeletesOwned(cluster, action);
        endsAfterDependents(cluster, action);
      };
      // Like the controller: finalizers are only removed when all dependents have been observed.
      cluster.sync();
      run(given, cluster);
      const { mustGo, mayGo } = fates(given.objects, cluster.deletedByUsers);
      for (const { metadata } of given.objects) {
        const { uid = '' } = metadata;
        if (mustGo.has(uid)) assert.ok(!cluster.objects.has(uid), `${uid} is left over`);
        if (!mayGo.has(uid)) assert.ok(cluster.objects.has(uid), `${uid} was lost`);
      }
    }),
    { numRuns: 1500 },
  );
});

test('clears blockOwnerDeletion only of references in a cycle', () => {
  const acyclic = scenario(['Background', 'Foreground', 'Orphan']).map((given) => ({
    ...given,
    objects: given.objects.map((one) => {
      const { uid = '', ownerReferences = [] } = one.metadata;
      return {
        ...one,
        metadata: { ...one.metadata, ownerReferences: ownerReferences.filter((owner) => owner.uid < uid) },
      };
    }),
  }));
  fc.assert(
    fc.property(acyclic, (given) => {
      const cluster = new SimulatedCluster(given.objects);
      cluster.onAction = (action) => assert.ok(!isUnblocking(cluster, action));
      run(given, cluster);
    }),
    { numRuns: 500 },
  );
});

test('the number of affected objects does not grow with the number of objects', () => {
  const many = Array.from({ length: 5000 }, (_, index) => object(`pod-${index}`, { owners: [ref('owner')] }));
  const graph = graphOf([object('owner'), ...many]);
  const { type, metadata } = object('pod-7', { owners: [ref('owner')], resourceVersion: '2' });
  assert.deepEqual(graph.observe(type, metadata), []);
  assert.deepEqual(graph.remove('pod-8'), []);
  const owner = object('owner', { resourceVersion: '3' });
  assert.deepEqual(graph.observe(owner.type, owner.metadata), []);
});
