import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';

import fc from 'fast-check';

import { committed } from './testing/open.ts';
import { Recorder } from './testing/recorder.ts';
import { EmbeddedStore } from './embedded.ts';
import { StoreUnavailableError } from './errors.ts';
import type { Journal } from './embedded.ts';
import type { Change } from './store.ts';

/** A journal whose batches become durable when the test decides. */
class ManualJournal implements Journal {
  readonly batches: (readonly Change[])[] = [];
  #settle: PromiseWithResolvers<void> | undefined;

  append(changes: readonly Change[]): Promise<void> {
    assert.equal(this.#settle, undefined, 'one batch at a time');
    this.batches.push(changes);
    this.#settle = Promise.withResolvers();
    return this.#settle.promise;
  }

  /** Completes the current batch and lets the store continue. */
  async settle(error?: Error): Promise<void> {
    const settle = this.#settle;
    this.#settle = undefined;
    if (error === undefined) settle?.resolve();
    else settle?.reject(error);
    await setImmediate();
  }

  compact(): Promise<void> {
    return Promise.resolve();
  }

  size(): Promise<number> {
    return Promise.resolve(0);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

async function open(): Promise<{ journal: ManualJournal; store: EmbeddedStore; recorder: Recorder }> {
  const journal = new ManualJournal();
  const store = new EmbeddedStore(journal);
  const recorder = new Recorder();
  await store.watch('', store.revision, recorder, new AbortController().signal);
  return { journal, store, recorder };
}

const put = (key: string, value: string, expect?: number): { key: string; value: string; expect?: number } => ({
  key,
  value,
  ...(expect === undefined ? {} : { expect }),
});

describe('embedded store', () => {
  it('starts at revision 1, since clients send 0 for any', async () => {
    const { store } = await open();
    assert.deepEqual([store.revision, store.compacted], [1, 0]);
    assert.deepEqual((await store.range('', { revision: 0 })).entries, []);
  });

  it('shows commits to readers and watchers only when they are durable', async () => {
    const { journal, store, recorder } = await open();
    const commit = store.commit([put('a', '1')]);
    await setImmediate();
    assert.equal(await store.get('a'), undefined);
    assert.deepEqual((await store.range('')).entries, []);
    assert.equal(store.revision, 1);
    await assert.rejects(store.range('', { revision: 2 }), { code: 'STORE_FUTURE_REVISION' });
    assert.deepEqual(recorder.changes, []);
    await journal.settle();
    assert.equal((await store.get('a'))?.value, '1');
    assert.deepEqual(recorder.texts([1, 2, 3]), ['1 a=1<none']);
    assert.deepEqual(await commit, { ok: true, revision: 2 });
  });

  it('notifies watchers of a commit before it resolves', async () => {
    const { journal, store, recorder } = await open();
    const seen = store.commit([put('a', '1')]).then(() => recorder.changes.length);
    await setImmediate();
    await journal.settle();
    assert.equal(await seen, 1);
  });

  it('writes all commits that arrive during a batch as the next one', async () => {
    const { journal, store, recorder } = await open();
    const commits = [store.commit([put('a', '1')]), store.commit([put('b', '1')])];
    await setImmediate();
    for (let i = 0; i < 10; i++) commits.push(store.commit([put('c', String(i))]));
    await journal.settle();
    await journal.settle();
    assert.deepEqual(
      journal.batches.map((batch) => batch.map(({ revision }) => revision)),
      [
        [2, 3],
        [4, 5, 6, 7, 8, 9, 10, 11, 12, 13],
      ],
    );
    assert.equal((await Promise.all(commits)).at(-1)?.revision, 13);
    assert.equal(recorder.calls.length, 2);
  });

  it('checks expectations against pending commits and resolves when they are durable', async () => {
    const { journal, store } = await open();
    const first = store.commit([put('a', '1', 0)]);
    const second = store.commit([put('a', '2', 2)]);
    let isAnswered = false;
    const loser = store.commit([put('a', '3', 2)]).finally(() => (isAnswered = true));
    const noop = store.commit([{ key: 'b', value: undefined }]);
    await setImmediate();
    assert.equal(isAnswered, false);
    await journal.settle();
    assert.deepEqual(await Promise.all([first, second]), [
      { ok: true, revision: 2 },
      { ok: true, revision: 3 },
    ]);
    const conflict = await loser;
    assert.ok(!conflict.ok);
    assert.deepEqual([conflict.key, conflict.current?.revision, conflict.revision], ['a', 3, 3]);
    assert.deepEqual(await noop, { ok: true, revision: 3 });
    assert.equal(journal.batches.length, 1);
  });

  it('rejects every waiting commit when the journal fails and continues from the durable state', async () => {
    const { journal, store, recorder } = await open();
    const durable = store.commit([put('a', 'durable')]);
    await setImmediate();
    await journal.settle();
    await durable;

    const lost = [store.commit([put('a', 'lost', 2)])];
    await setImmediate();
    lost.push(store.commit([put('a', 'later', 3), put('b', 'later')]), store.commit([put('a', 'x', 1)]));
    const outcomes = Promise.allSettled(lost);
    await journal.settle(new StoreUnavailableError('the disk is full'));
    for (const outcome of await outcomes) {
      assert.equal(outcome.status, 'rejected');
      assert.equal((outcome.reason as StoreUnavailableError).code, 'STORE_UNAVAILABLE');
    }
    assert.equal(store.revision, 2);
    assert.equal((await store.get('a'))?.value, 'durable');
    assert.equal(recorder.changes.length, 1);

    const next = store.commit([put('a', 'next', 2)]);
    await setImmediate();
    await journal.settle();
    assert.deepEqual(await next, { ok: true, revision: 3 });
    assert.deepEqual(recorder.texts([1, 2, 3]), ['1 a=durable<none', '2 a=next<durable']);
  });

  it('rejects commits beyond the maximum number of waiting ones', async () => {
    const { journal, store } = await open();
    const commits = [store.commit([put('a', '')])];
    await setImmediate();
    for (let i = 0; i < 16_384; i++) commits.push(store.commit([put('a', String(i))]));
    await assert.rejects(store.commit([put('a', 'too many')]), { code: 'STORE_UNAVAILABLE' });
    await journal.settle();
    await journal.settle();
    assert.equal((await Promise.all(commits)).length, 16_385);
    assert.equal((await store.get('a'))?.value, '16383');
  });

  it('waits for the journal before it closes', async () => {
    const { journal, store, recorder } = await open();
    const commit = store.commit([put('a', '1')]);
    await setImmediate();
    let isClosed = false;
    const closed = store.close().then(() => (isClosed = true));
    await setImmediate();
    assert.equal(isClosed, false);
    await journal.settle();
    await Promise.all([commit, closed]);
    assert.deepEqual([recorder.changes.length, recorder.ends.length], [1, 1]);
  });

  it('counts the bytes it holds, history included', async () => {
    const journal: Journal = {
      append: () => Promise.resolve(),
      compact: () => Promise.resolve(),
      size: () => Promise.resolve(undefined),
      close: () => Promise.resolve(),
    };
    const store = new EmbeddedStore(journal);
    await committed(store, put('a', '1234'));
    await committed(store, put('a', '12'));
    const last = await committed(store, { key: 'a', value: undefined }, put('b', '12345'));
    assert.equal(await store.size(), 5 + 3 + 6);
    await store.compact(last - 1);
    assert.equal(await store.size(), 3 + 6);
    await store.compact(last);
    assert.equal(await store.size(), 6);
  });

  it('contains exactly the acknowledged writes, whatever the journal does', async () => {
    const write = fc.record({ key: fc.constantFrom('a', 'b', 'c'), isConditional: fc.boolean() });
    const step = fc.oneof({ weight: 4, arbitrary: write }, fc.constantFrom('durable' as const, 'lost' as const));
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
        const { journal, store, recorder } = await open();
        const acknowledged = new Map<number, string>();
        const commits: Promise<void>[] = [];
        for (const [i, next] of steps.entries()) {
          if (next === 'durable') await journal.settle();
          else if (next === 'lost') await journal.settle(new StoreUnavailableError('lost'));
          else {
            // An expectation on the visible state may be stale because of waiting commits.
            const expect = next.isConditional ? ((await store.get(next.key))?.revision ?? 0) : undefined;
            const commit = store.commit([put(next.key, String(i), expect)]);
            commits.push(
              commit.then(
                ({ ok, revision }) => {
                  if (ok) acknowledged.set(revision, `${next.key}=${i}`);
                },
                (error: { code?: string }) => assert.equal(error.code, 'STORE_UNAVAILABLE'),
              ),
            );
          }
        }
        await setImmediate();
        await journal.settle();
        await journal.settle();
        await Promise.all(commits);
        const seen = recorder.changes.map(({ revision, key, entry }) => [revision, `${key}=${entry?.value}`]);
        assert.deepEqual(seen, [...acknowledged]);
        assert.deepEqual(
          recorder.changes.map(({ revision }) => revision),
          seen.map((unused, i) => i + 2),
          'revisions have no gap',
        );
        for (const { key, entry, previous, revision } of recorder.changes) {
          const [before] = (await store.range(key, { revision: revision - 1 })).entries;
          const [after] = (await store.range(key, { revision })).entries;
          assert.deepEqual([before, after], [previous, entry]);
        }
      }),
    );
  });
});
