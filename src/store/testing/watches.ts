import assert from 'node:assert/strict';
import { it } from 'node:test';

import type { Commit, Store, WatchObserver } from '../store.ts';
import type { OpenStore } from './open.ts';
import { Recorder, until } from './recorder.ts';

const write = async (store: Store, key: string, value: string | undefined): Promise<number> =>
  (await store.commit([{ key, value }])).revision;

/** Registers the tests of `watch`. */
export function watchContract(open: OpenStore): void {
  it('delivers past changes, then new ones, with previous values', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    const revisions = [await write(store, `${prefix}a`, '1')];
    revisions.push(await write(store, `${prefix}b`, '2'), await write(store, `${prefix}a`, '3'));
    const recorder = new Recorder();
    await store.watch(prefix, revisions[0] ?? 0, recorder, new AbortController().signal);
    revisions.push(await write(store, `${prefix}a`, undefined), await write(store, `${prefix}a`, '4'));
    await until(() => recorder.changes.length >= 4, 'all changes are seen');
    assert.deepEqual(recorder.texts(revisions), ['1 b=2<none', '2 a=3<1', '3 a=gone<3', '4 a=4<none']);
    assert.equal(recorder.changes[3]?.entry?.created, revisions[4]);
  });

  it('delivers only keys under the prefix', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    const recorder = new Recorder();
    await store.watch(`${prefix}b/`, store.revision, recorder, new AbortController().signal);
    const keys = ['a', 'b', 'b/x', 'b/y', 'b0', 'c/b/z'];
    const revisions = [(await store.commit(keys.map((key) => ({ key: prefix + key, value: key })))).revision];
    for (const key of keys) revisions.push(await write(store, prefix + key, undefined));
    await until(() => recorder.changes.length >= 4, 'all changes are seen');
    assert.deepEqual(recorder.texts(revisions), ['0 x=b/x<none', '0 y=b/y<none', '3 x=gone<b/x', '4 y=gone<b/y']);
  });

  it('has no gaps and no duplicates, wherever it starts between commits', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    const base = await write(store, `${prefix}a`, '0');
    const commits: Promise<Commit>[] = [];
    const recorders: { readonly from: number; readonly recorder: Recorder }[] = [];
    for (let i = 1; i <= 200; i++) {
      commits.push(
        store.commit([
          { key: `${prefix}a`, value: String(i) },
          { key: `${prefix}b`, value: String(i) },
        ]),
      );
      if (i % 20 !== 0) continue;
      for (const from of [base, store.revision]) {
        const recorder = new Recorder();
        recorders.push({ from, recorder });
        await store.watch(prefix, from, recorder, new AbortController().signal);
      }
    }
    const revisions = (await Promise.all(commits)).map(({ revision }) => revision);
    const last = store.revision;
    assert.deepEqual([new Set(revisions).size, revisions.at(-1)], [200, last]);
    for (const { from, recorder } of recorders) {
      await until(() => recorder.changes.at(-1)?.revision === last, 'the last change is seen');
      const want = revisions.filter((revision) => revision > from).flatMap((revision) => [revision, revision]);
      assert.deepEqual(
        recorder.changes.map(({ revision }) => revision),
        want,
      );
      for (const { revisions, revision } of recorder.calls) {
        assert.equal(revisions.length % 2, 0, 'a call has whole commits');
        assert.ok((revisions.at(-1) ?? 0) <= revision);
      }
    }
  });

  it('ends with its signal, and never starts after it has fired', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    const base = await write(store, `${prefix}a`, '0');
    const [early, late] = [new AbortController(), new AbortController()];
    const [first, second] = [new Recorder(), new Recorder()];
    early.abort();
    await store.watch(prefix, base - 1, first, early.signal);
    await store.watch(prefix, base, second, late.signal);
    await write(store, `${prefix}a`, '1');
    late.abort();
    await write(store, `${prefix}a`, '2');
    await store.close();
    assert.deepEqual([first.changes.length, first.ends.length], [0, 0]);
    assert.deepEqual([second.changes.length, second.ends.length], [1, 0]);
  });

  it('can be started and stopped by an observer', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    const from = store.revision;
    const [inner, stop] = [new Recorder(), new AbortController()];
    let started: Promise<void> | undefined;
    const outer: WatchObserver = {
      onChanges: () => {
        started = store.watch(prefix, from, inner, new AbortController().signal);
        stop.abort();
      },
      onEnd: () => assert.fail(),
    };
    await store.watch(prefix, from, outer, stop.signal);
    const revisions = [await write(store, `${prefix}a`, '1')];
    await until(() => started !== undefined, 'the inner watch starts');
    await started;
    revisions.push(await write(store, `${prefix}a`, '2'));
    await until(() => inner.changes.length >= 2, 'all changes are seen');
    assert.deepEqual(inner.texts(revisions), ['0 a=1<none', '1 a=2<1']);
  });

  it('cannot start before the compacted revision; compaction does not affect running watches', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    const base = await write(store, `${prefix}a`, '0');
    const [live, resumed] = [new Recorder(), new Recorder()];
    await store.watch(prefix, base, live, new AbortController().signal);
    const compacted = await write(store, `${prefix}a`, '1');
    const revisions = [base, compacted, await write(store, `${prefix}a`, '2')];
    await store.compact(compacted);
    const { signal } = new AbortController();
    await assert.rejects(store.watch(prefix, base, resumed, signal), { code: 'STORE_COMPACTED', compacted });
    await store.watch(prefix, compacted, resumed, signal);
    revisions.push(await write(store, `${prefix}a`, '3'));
    await until(() => live.changes.length >= 3 && resumed.changes.length >= 2, 'all changes are seen');
    assert.deepEqual(live.texts(revisions), ['1 a=1<0', '2 a=2<1', '3 a=3<2']);
    assert.deepEqual(resumed.texts(revisions), ['2 a=2<1', '3 a=3<2']);
  });

  it('ends when the store is closed, once', async () => {
    const { store, prefix } = await open();
    const recorder = new Recorder();
    await store.watch(prefix, store.revision, recorder, new AbortController().signal);
    await store.commit([{ key: `${prefix}a`, value: '' }]);
    await store.close();
    await store.close();
    assert.equal(recorder.changes.length, 1);
    assert.equal(recorder.ends.length, 1);
    assert.equal((recorder.ends[0] as { code?: string }).code, 'STORE_UNAVAILABLE');
  });
}
