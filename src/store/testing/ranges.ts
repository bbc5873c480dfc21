import assert from 'node:assert/strict';
import { it } from 'node:test';

import type { OpenStore } from './open.ts';
import { committed, texts } from './open.ts';

/** Registers the tests of `range` and `compact`. */
export function rangeContract(open: OpenStore): void {
  const cases = [
    { name: 'all', options: {}, want: ['a=1', 'b=2', 'c=3', 'd=4'], remaining: 0 },
    { name: 'no limit', options: { limit: 0 }, want: ['a=1', 'b=2', 'c=3', 'd=4'], remaining: 0 },
    { name: 'a limit', options: { limit: 2 }, want: ['a=1', 'b=2'], remaining: 2 },
    { name: 'a limit at the end', options: { limit: 4 }, want: ['a=1', 'b=2', 'c=3', 'd=4'], remaining: 0 },
    { name: 'from a key', options: { from: 'b' }, want: ['b=2', 'c=3', 'd=4'], remaining: 0 },
    { name: 'from an absent key', options: { from: 'b\0', limit: 1 }, want: ['c=3'], remaining: 1 },
    { name: 'from after the last key', options: { from: 'e' }, want: [], remaining: 0 },
  ];
  for (const { name, options, want, remaining } of cases) {
    it(`ranges over a prefix: ${name}`, async () => {
      const { store, prefix } = await open();
      await using _ = store;
      const inside = { c: '3', a: '1', d: '4', b: '2' };
      for (const [key, value] of Object.entries(inside)) await committed(store, { key: `${prefix}p/${key}`, value });
      const revision = await committed(store, { key: `${prefix}p`, value: 'x' }, { key: `${prefix}p0`, value: 'x' });
      const from = options.from === undefined ? {} : { from: `${prefix}p/${options.from}` };
      const range = await store.range(`${prefix}p/`, { ...options, ...from });
      assert.deepEqual(texts(range.entries), want);
      assert.deepEqual([range.revision, range.more, range.remaining], [revision, remaining > 0, remaining]);
    });
  }

  it('reads pages at the revision of the first', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    for (const key of ['a', 'b', 'c']) await committed(store, { key: prefix + key, value: 'old' });
    const first = await store.range(prefix, { limit: 1 });
    await committed(store, { key: `${prefix}b`, value: 'new' }, { key: `${prefix}c`, value: undefined });
    await committed(store, { key: `${prefix}d`, value: 'new' });
    const { revision } = first;
    const rest = await store.range(prefix, { revision, from: `${prefix}a\0` });
    assert.deepEqual(texts(rest.entries), ['b=old', 'c=old']);
    assert.equal(rest.revision, revision);
    assert.deepEqual(texts((await store.range(prefix)).entries), ['a=old', 'b=new', 'd=new']);
  });

  it('reads at every revision since the compacted one and at no other', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    const key = `${prefix}a`;
    const revisions: number[] = [];
    for (let i = 0; i < 200; i++) revisions.push(await committed(store, { key, value: String(i) }));
    const [dropped = 0, oldest = 0] = revisions.slice(49);
    assert.deepEqual([store.revisionBefore(0), store.revisionBefore(149)], [revisions.at(-1), oldest]);
    await store.compact(oldest);
    assert.equal(store.compacted, oldest);
    assert.deepEqual([store.revisionBefore(148), store.revisionBefore(1000)], [revisions[51], oldest]);
    for (const [i, revision] of revisions.entries()) {
      if (revision < oldest) continue;
      assert.deepEqual(texts((await store.range(prefix, { revision })).entries), [`a=${i}`]);
    }
    await assert.rejects(store.range(prefix, { revision: dropped }), { code: 'STORE_COMPACTED', compacted: oldest });
    await assert.rejects(store.range(prefix, { revision: store.revision + 1 }), { code: 'STORE_FUTURE_REVISION' });
  });

  it('keeps current values and revisions when all history is compacted', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    await committed(store, { key: `${prefix}a`, value: '1' }, { key: `${prefix}b`, value: '2' });
    const last = await committed(store, { key: `${prefix}b`, value: undefined });
    await store.compact(last);
    await store.compact(last); // again: nothing to do
    await assert.rejects(store.compact(last + 1), { code: 'STORE_FUTURE_REVISION' });
    assert.deepEqual(texts((await store.range(prefix)).entries), ['a=1']);
    assert.ok((await committed(store, { key: `${prefix}b`, value: '3' })) > last);
    assert.ok((await store.size()) > 0);
  });
}
