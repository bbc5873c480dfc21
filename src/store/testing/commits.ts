import assert from 'node:assert/strict';
import { it } from 'node:test';

import type { Commit } from '../store.ts';
import type { OpenStore } from './open.ts';
import { committed, texts } from './open.ts';

/** Registers the tests of `commit` and `close`. */
export function commitContract(open: OpenStore): void {
  it('raises the revision by one per commit, and all keys of a commit share it', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    const first = await committed(store, { key: `${prefix}a`, value: '1' });
    const second = await committed(store, { key: `${prefix}a`, value: '2' }, { key: `${prefix}b`, value: '3' });
    assert.equal(second, first + 1);
    assert.equal(store.revision, second);
    assert.deepEqual(await store.get(`${prefix}a`), {
      key: `${prefix}a`,
      value: '2',
      revision: second,
      created: first,
    });
    assert.deepEqual(await store.get(`${prefix}b`), {
      key: `${prefix}b`,
      value: '3',
      revision: second,
      created: second,
    });
    assert.equal(await store.get(`${prefix}c`), undefined);
  });

  it('creates a key again after its deletion', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    await committed(store, { key: `${prefix}a`, value: '1' });
    const deleted = await committed(store, { key: `${prefix}a`, value: undefined });
    assert.equal(await store.get(`${prefix}a`), undefined);
    const again = await committed(store, { key: `${prefix}a`, value: '2', expect: 0 });
    assert.equal(again, deleted + 1);
    assert.equal((await store.get(`${prefix}a`))?.created, again);
  });

  it('does not raise the revision when nothing changes', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    const before = await committed(store, { key: `${prefix}a`, value: '1' });
    assert.deepEqual(await store.commit([{ key: `${prefix}b`, value: undefined }]), { ok: true, revision: before });
    assert.deepEqual(await store.commit([{ key: `${prefix}b`, value: undefined, expect: 0 }]), {
      ok: true,
      revision: before,
    });
    assert.equal(store.revision, before);
    assert.equal(
      await committed(store, { key: `${prefix}b`, value: undefined }, { key: `${prefix}c`, value: '' }),
      before + 1,
    );
    assert.equal((await store.get(`${prefix}c`))?.value, '');
  });

  // `a` is at the revision of the last commit, `b` at the one before, `c` is absent.
  const expectations: readonly { name: string; a?: number; b?: number; c?: number; conflict?: 'a' | 'b' | 'c' }[] = [
    { name: 'none' },
    { name: 'all met', a: 0, b: -1, c: Number.NaN },
    { name: 'an old revision', a: -1, conflict: 'a' },
    { name: 'a future revision', b: 0, conflict: 'b' },
    { name: 'absent expected but present', a: Number.NaN, conflict: 'a' },
    { name: 'present expected but absent', c: 0, conflict: 'c' },
    { name: 'the second key fails', a: 0, b: 0, c: 0, conflict: 'b' },
  ] as const;
  for (const { name, conflict, ...expected } of expectations) {
    it(`checks expectations: ${name}`, async () => {
      const { store, prefix } = await open();
      await using _ = store;
      await committed(store, { key: `${prefix}b`, value: 'old' });
      const last = await committed(store, { key: `${prefix}a`, value: 'old' });
      const expectOf = (offset: number | undefined): number | undefined =>
        offset === undefined ? undefined : Number.isNaN(offset) ? 0 : last + offset;
      const writes = (['a', 'b', 'c'] as const).map((key) => ({
        key: prefix + key,
        value: 'new',
        expect: expectOf(expected[key]),
      }));
      const commit = await store.commit(writes);
      const entries = texts((await store.range(prefix)).entries);
      if (conflict === undefined) {
        assert.deepEqual(commit, { ok: true, revision: last + 1 } satisfies Commit);
        assert.deepEqual(entries, ['a=new', 'b=new', 'c=new']);
        return;
      }
      assert.ok(!commit.ok);
      assert.equal(commit.key, prefix + conflict);
      assert.equal(commit.current?.revision, { a: last, b: last - 1, c: undefined }[conflict]);
      assert.equal(commit.revision, last);
      assert.deepEqual(entries, ['a=old', 'b=old']);
      assert.equal(store.revision, last);
    });
  }

  it('lets exactly one of several concurrent writers succeed', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    const key = `${prefix}a`;
    const expect = await committed(store, { key, value: '' });
    const commits = await Promise.all(
      Array.from({ length: 20 }, (unused, i) => store.commit([{ key, value: String(i), expect }])),
    );
    const winners = commits.filter(({ ok }) => ok);
    assert.equal(winners.length, 1);
    for (const { revision } of commits) assert.ok(revision >= expect + 1 && revision <= store.revision);
    assert.equal((await store.get(key))?.revision, winners[0]?.revision);
  });

  it('accepts 128 keys per commit and rejects more or duplicate keys', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    const writes = Array.from({ length: 129 }, (unused, i) => ({ key: `${prefix}${i}`, value: '' }));
    const revision = await committed(store, ...writes.slice(1));
    await assert.rejects(store.commit(writes), { code: 'STORE_INVALID_COMMIT' });
    const twice = { key: `${prefix}a`, value: '' };
    await assert.rejects(store.commit([twice, { ...twice, value: undefined }]), { code: 'STORE_INVALID_COMMIT' });
    assert.equal(store.revision, revision);
    assert.equal((await store.range(prefix)).entries.length, 128);
  });

  it('preserves any text', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    for (const value of ['', 'é', '日本', '😀', '"\\\n\t', 'a\0b', 'x'.repeat(100_000)]) {
      await committed(store, { key: `${prefix}a`, value });
      assert.equal((await store.get(`${prefix}a`))?.value, value);
    }
  });

  it('finishes pending commits before it closes and rejects later ones', async () => {
    const { store, prefix } = await open();
    const commits = [1, 2, 3].map((i) => store.commit([{ key: `${prefix}${i}`, value: '' }]));
    const closed = store.close();
    await assert.rejects(store.commit([{ key: `${prefix}4`, value: '' }]), { code: 'STORE_UNAVAILABLE' });
    await Promise.all([closed, store.close()]);
    for (const commit of await Promise.all(commits)) assert.ok(commit.ok);
    const never = new AbortController().signal;
    await assert.rejects(store.get(`${prefix}1`), { code: 'STORE_UNAVAILABLE' });
    await assert.rejects(store.range(prefix), { code: 'STORE_UNAVAILABLE' });
    await assert.rejects(store.compact(1), { code: 'STORE_UNAVAILABLE' });
    const observer = { onChanges: (): void => assert.fail(), onEnd: (): void => assert.fail() };
    await assert.rejects(store.watch(prefix, 0, observer, never), { code: 'STORE_UNAVAILABLE' });
    await store.close();
  });
}
