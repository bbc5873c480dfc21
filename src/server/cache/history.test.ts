import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import fc from 'fast-check';

import type { CacheEvent } from './history.ts';
import { History } from './history.ts';

const event = (revision: number, time = 0): CacheEvent => ({
  revision,
  key: `k${revision}`,
  item: undefined,
  previous: undefined,
  time,
  lines: undefined,
});

const revisions = (events: readonly CacheEvent[] | undefined): number[] | undefined =>
  events?.map(({ revision }) => revision);

const limits = { maxEvents: 3, maxBytes: 1 << 20, maxAgeMs: 1000 };

suite('changes since a revision', () => {
  const filled = (...of: readonly [revision: number, time?: number][]): History => {
    const history = new History(10, limits);
    for (const [revision, time] of of) history.push(event(revision, time));
    return history;
  };
  const table: readonly [name: string, history: History, from: number, want: number[] | undefined][] = [
    ['no changes', filled(), 10, []],
    ['no changes, and a future revision', filled(), 99, []],
    ['before its floor', filled([12]), 9, undefined],
    ['from its floor', filled([12], [15]), 10, [12, 15]],
    ['from between two changes', filled([12], [15]), 13, [15]],
    ['from a change itself', filled([12], [15]), 12, [15]],
    ['from the last change', filled([12], [15]), 15, []],
    ['the first was dropped: too many', filled([12], [13], [14], [15]), 11, undefined],
    ['the rest is kept', filled([12], [13], [14], [15]), 12, [13, 14, 15]],
    ['the first was dropped: too old', filled([12, 0], [13, 900], [14, 1001]), 11, undefined],
    ['age counts from the last change', filled([12, 0], [13, 1000]), 11, [12, 13]],
    ['several keys of one commit', filled([12], [12], [13]), 11, [12, 12, 13]],
  ];
  for (const [name, history, from, want] of table) {
    test(name, () => assert.deepEqual(revisions(history.since(from)), want));
  }
});

test('keeps the floor of a resource that does not change', () => {
  const history = new History(10, limits);
  history.push(event(11));
  assert.deepEqual(revisions(history.since(1_000_000)), []);
  assert.deepEqual(revisions(history.since(11)), []);
});

test('keeps fewer changes of large values', () => {
  const history = new History(0, { ...limits, maxBytes: 250 });
  history.push(event(1));
  history.push(event(2));
  assert.equal(history.floor, 1);
  assert.deepEqual(revisions(history.since(1)), [2]);
});

test('has every change after the floor, whatever is pushed', () => {
  const steps = fc.array(fc.record({ gap: fc.integer({ min: 1, max: 3 }), pause: fc.integer({ min: 0, max: 400 }) }));
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 6 }), (pushes, maxEvents) => {
      const history = new History(0, { ...limits, maxEvents });
      const all: number[] = [];
      let [revision, time] = [0, 0];
      for (const { gap, pause } of pushes) {
        revision += gap;
        time += pause;
        all.push(revision);
        history.push(event(revision, time));
      }
      for (let from = 0; from <= revision + 1; from++) {
        const want = from < history.floor ? undefined : all.filter((each) => each > from);
        assert.deepEqual(revisions(history.since(from)), want);
      }
    }),
  );
});

test('frees the memory of thousands of dropped changes', () => {
  const history = new History(0, limits);
  for (let revision = 1; revision <= 5000; revision++) history.push(event(revision));
  assert.equal(history.floor, 4997);
  assert.deepEqual(revisions(history.since(4997)), [4998, 4999, 5000]);
});
