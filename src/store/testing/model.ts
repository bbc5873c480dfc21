import assert from 'node:assert/strict';
import { it } from 'node:test';

import fc from 'fast-check';

import type { Change, Entry, Range, Store, Write } from '../store.ts';
import type { OpenStore } from './open.ts';
import { Recorder, until } from './recorder.ts';

/** A naive store: a full copy of the state at every revision. */
class Model {
  readonly #states = new Map<number, ReadonlyMap<string, Entry>>();
  readonly changes: Change[] = [];
  revision: number;
  compacted: number;

  constructor(revision: number) {
    this.revision = revision;
    this.compacted = revision;
    this.#states.set(revision, new Map());
  }

  at(revision: number): ReadonlyMap<string, Entry> {
    return this.#states.get(revision) ?? new Map<string, Entry>();
  }

  /** The revision that is some commits older than the last, or the first. */
  before(commits: number): number {
    const revisions = [...this.#states.keys()];
    return revisions[Math.max(0, revisions.length - 1 - commits)] ?? 0;
  }

  /** The key in conflict; undefined if the commit succeeds, at `revision` if it changes something. */
  commit(writes: readonly Write[], revision: number): string | undefined {
    const before = this.at(this.revision);
    const conflict = writes.find(
      ({ key, expect }) => expect !== undefined && expect !== (before.get(key)?.revision ?? 0),
    );
    if (conflict !== undefined) return conflict.key;
    const after = new Map(before);
    let isChanged = false;
    for (const { key, value } of writes) {
      const previous = before.get(key);
      if (value === undefined && previous === undefined) continue;
      const entry = value === undefined ? undefined : { key, value, revision, created: previous?.created ?? revision };
      if (entry === undefined) after.delete(key);
      else after.set(key, entry);
      this.changes.push({ key, revision, entry, previous });
      isChanged = true;
    }
    if (!isChanged) return undefined;
    assert.ok(revision > this.revision, 'the revision rises');
    this.#states.set(revision, after);
    this.revision = revision;
    return undefined;
  }

  range(prefix: string, { from, limit, revision }: { from: string; limit: number; revision: number }): Range {
    const keys = [...this.at(revision).keys()].filter((key) => key.startsWith(prefix) && key >= from).toSorted();
    const entries = keys.slice(0, limit === 0 ? keys.length : limit).flatMap((key) => this.at(revision).get(key) ?? []);
    const remaining = keys.length - entries.length;
    return { entries, revision, more: remaining > 0, remaining };
  }
}

type Expectation = 'any' | 'absent' | 'current' | 'stale';
interface Step {
  readonly run: (comparison: Comparison) => Promise<void>;
}

/** Runs the same steps on a store and its model. Keys are under `root`, since many comparisons share a store. */
class Comparison {
  readonly #store: Store;
  readonly #root: string;
  readonly #model: Model;
  readonly #stop = new AbortController();
  readonly #watches: { readonly prefix: string; readonly from: number; readonly recorder: Recorder }[] = [];

  constructor(store: Store, root: string) {
    this.#store = store;
    this.#root = root;
    this.#model = new Model(store.revision);
  }

  async commit(steps: readonly { key: string; value: string | undefined; expectation: Expectation }[]): Promise<void> {
    const writes = steps.map(({ key, value, expectation }) => {
      const now = this.#model.at(this.#model.revision).get(this.#root + key)?.revision ?? 0;
      const expect = { any: undefined, absent: 0, current: now, stale: now + 1 }[expectation];
      return { key: this.#root + key, value, expect };
    });
    const commit = await this.#store.commit(writes);
    const conflict = this.#model.commit(writes, commit.revision);
    assert.equal(commit.ok ? undefined : commit.key, conflict);
    assert.equal(commit.revision, this.#model.revision);
    assert.equal(this.#store.revision, this.#model.revision);
  }

  async range(step: { prefix: string; from: string; limit: number; back: number }): Promise<void> {
    const { compacted } = this.#model;
    const options = { from: this.#root + step.from, limit: step.limit, revision: this.#model.before(step.back) };
    const range = this.#store.range(this.#root + step.prefix, options);
    if (options.revision < compacted) {
      // The model does not contain earlier revisions, which may or may not be compacted.
      await range.catch((error: { code?: string }) => assert.equal(error.code, 'STORE_COMPACTED'));
      return;
    }
    assert.deepEqual(await range, this.#model.range(this.#root + step.prefix, options));
  }

  async watch(step: { prefix: string; back: number }): Promise<void> {
    const prefix = this.#root + step.prefix;
    const from = Math.max(this.#model.compacted, this.#model.before(step.back));
    const recorder = new Recorder();
    this.#watches.push({ prefix, from, recorder });
    await this.#store.watch(prefix, from, recorder, this.#stop.signal);
  }

  async compact(back: number): Promise<void> {
    this.#model.compacted = Math.max(this.#model.compacted, this.#model.before(back));
    await this.#store.compact(this.#model.compacted);
    assert.equal(this.#store.compacted, this.#model.compacted);
  }

  /** Checks that every watch has received exactly the expected changes. */
  async finish(): Promise<void> {
    for (const { prefix, from, recorder } of this.#watches) {
      const want = this.#model.changes.filter(({ key, revision }) => revision > from && key.startsWith(prefix));
      await until(() => recorder.changes.length >= want.length, 'all changes are seen');
      assert.deepEqual(ordered(recorder.changes), ordered(want));
      assert.deepEqual(recorder.ends, []);
    }
    this.#stop.abort();
  }
}

/** Changes of one commit have no order. */
const ordered = (changes: readonly Change[]): readonly Change[] =>
  changes.toSorted((a, b) => a.revision - b.revision || (a.key < b.key ? -1 : 1));

const key = fc.constantFrom('a', 'a/1', 'a/2', 'a0', 'b', 'b/1', 'b/1/x', 'c');
const write = fc.record({
  key,
  value: fc.option(fc.string({ maxLength: 5 }), { nil: undefined }),
  expectation: fc.constantFrom<Expectation[]>('any', 'any', 'absent', 'current', 'current', 'stale'),
});
const commitStep = fc
  .uniqueArray(write, { selector: (one) => one.key, minLength: 1, maxLength: 4 })
  .map((writes): Step => ({ run: (comparison) => comparison.commit(writes) }));
const rangeStep = fc
  .record({ prefix: fc.constantFrom('', 'a', 'a/', 'b/', 'x'), from: key, limit: fc.nat(4), back: fc.nat(80) })
  .map((range): Step => ({ run: (comparison) => comparison.range(range) }));
const watchStep = fc
  .record({ prefix: fc.constantFrom('', 'a/', 'b'), back: fc.nat(20) })
  .map((watch): Step => ({ run: (comparison) => comparison.watch(watch) }));
const compactStep = fc.nat(80).map((back): Step => ({ run: (comparison) => comparison.compact(back) }));
const step = fc.oneof(
  { weight: 8, arbitrary: commitStep },
  { weight: 4, arbitrary: rangeStep },
  { weight: 1, arbitrary: watchStep },
  { weight: 1, arbitrary: compactStep },
);

/** Registers the test that compares a store with its model in random sequences of steps. */
export function modelContract(open: OpenStore): void {
  it('behaves like a naive model', async () => {
    const opened = await open();
    await using store = opened.store;
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 150, size: 'max' }), async (steps) => {
        const comparison = new Comparison(store, `${opened.prefix}${runs++}/`);
        for (const { run } of steps) await run(comparison);
        await comparison.finish();
      }),
      { numRuns: 50 },
    );
  });
}
