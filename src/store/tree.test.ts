import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import type { Keyed } from './tree.ts';
import { Tree } from './tree.ts';

interface Item extends Keyed {
  readonly value: number;
}

const keys = fc.nat(400).map((n) => `k${n}`);
const step = fc.record({ key: keys, value: fc.nat(), remove: fc.boolean() });

test('is a sorted map, and older trees do not change', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 1500, size: 'max' }), keys, keys, (steps, from, below) => {
      let tree = Tree.empty<Item>();
      const model = new Map<string, number>();
      const snapshots: { readonly tree: Tree<Item>; readonly want: readonly Item[] }[] = [];
      for (const [i, { key, value, remove }] of steps.entries()) {
        tree = remove ? tree.delete(key) : tree.set({ key, value });
        if (remove) model.delete(key);
        else model.set(key, value);
        assert.equal(tree.get(key)?.value, model.get(key));
        if (i % 200 === 0 || i === steps.length - 1) snapshots.push({ tree, want: sorted(model) });
      }
      for (const { tree: snapshot, want } of snapshots) {
        assert.deepEqual(snapshot.range('', undefined, Infinity), want);
        assert.deepEqual([...snapshot.walk('', undefined)], want);
        assert.equal(snapshot.size, want.length);
        assert.equal(snapshot.countBelow(from), want.filter(({ key }) => key < from).length);
        const inside = want.filter(({ key }) => key >= from && key < below);
        assert.deepEqual(snapshot.range(from, below, 7), inside.slice(0, 7));
        assert.deepEqual([...snapshot.walk(from, below)], inside);
      }
    }),
    { numRuns: 30 },
  );
});

const sorted = (model: ReadonlyMap<string, number>): Item[] =>
  [...model].map(([key, value]) => ({ key, value })).toSorted((a, b) => (a.key < b.key ? -1 : 1));

test('can be emptied in any order', () => {
  const names = Array.from({ length: 5000 }, (unused, i) => `k${(i * 7919) % 5000}`);
  for (const order of [names, names.toReversed(), names.toSorted(), names.toSorted().toReversed()]) {
    let tree = Tree.empty<Keyed>();
    for (const key of names) tree = tree.set({ key });
    assert.equal(tree.size, 5000);
    for (const [i, key] of order.entries()) {
      tree = tree.delete(key);
      assert.equal(tree.get(key), undefined);
      assert.equal(tree.size, 4999 - i);
    }
    assert.deepEqual(tree.range('', undefined, Infinity), []);
    assert.equal(tree.delete('k1'), tree);
  }
});
