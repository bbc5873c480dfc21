import assert from 'node:assert/strict';
import { it } from 'node:test';

import { maxWrites } from '../limits.ts';
import type { OpenStore } from './open.ts';
import { committed, texts } from './open.ts';
import { Recorder, until } from './recorder.ts';

/** Registers the tests of `commit` and `close`. */
export function commitContract(open: OpenStore): void {
  it('raises the revision with each commit, and all keys of a commit share it', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    const first = await committed(store, { key: `${prefix}a`, value: '1' });
    const second = await committed(store, { key: `${prefix}a`, value: '2' }, { key: `${prefix}b`, value: '3' });
    assert.ok(second > first);
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
    assert.ok(again > deleted);
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
    const after = await committed(store, { key: `${prefix}b`, value: undefined }, { key: `${prefix}c`, value: '' });
    assert.ok(after > before);
    assert.equal(store.revision, after);
    assert.equal((await store.get(`${prefix}c`))?.value, '');
  });

  // `a` is at the revision of the last commit (0), `b` at the one before (-1), `c` is absent.
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
      const before = await committed(store, { key: `${prefix}b`, value: 'old' });
      const last = await committed(store, { key: `${prefix}a`, value: 'old' });
      const expectOf = (offset: number | undefined): number | undefined =>
        offset === undefined ? undefined : Number.isNaN(offset) ? 0 : offset < 0 ? before : last;
      const writes = (['a', 'b', 'c'] as const).map((key) => ({
        key: prefix + key,
        value: 'new',
        expect: expectOf(expected[key]),
      }));
      const commit = await store.commit(writes);
      const entries = texts((await store.range(prefix)).entries);
      if (conflict === undefined) {
        assert.ok(commit.ok && commit.revision > last);
        assert.deepEqual(entries, ['a=new', 'b=new', 'c=new']);
        return;
      }
      assert.ok(!commit.ok);
      assert.equal(commit.key, prefix + conflict);
      assert.equal(commit.current?.revision, { a: last, b: before, c: undefined }[conflict]);
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
    for (const { revision } of commits) assert.ok(revision > expect && revision <= store.revision);
    assert.equal((await store.get(key))?.revision, winners[0]?.revision);
  });

  it('checks a key without writing it', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    const [checked, written] = [`${prefix}a`, `${prefix}b`];
    const revision = await committed(store, { key: checked, value: '1' });
    const check = { key: checked, value: undefined, isCheck: true } as const;
    await committed(store, { ...check, expect: revision }, { key: written, value: '2' });
    assert.equal((await store.get(checked))?.revision, revision);
    const next = await committed(store, { key: checked, value: '3' });
    const commit = await store.commit([
      { ...check, expect: revision },
      { key: written, value: '4' },
    ]);
    assert.ok(!commit.ok && commit.key === checked && commit.current?.revision === next);
    assert.equal((await store.get(written))?.value, '2');
  });

  it('gives concurrent commits different revisions, in the order of their changes', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    const from = store.revision;
    const keys = Array.from({ length: 100 }, (unused, i) => `${prefix}${String(i).padStart(3, '0')}`);
    const created = await Promise.all(keys.map((key) => store.commit([{ key, value: key, expect: 0 }])));
    const deleted = await Promise.all(
      keys.map((key, i) => store.commit([{ key, value: i % 3 === 0 ? 'new' : undefined }])),
    );
    const revisions = [...created, ...deleted].map(({ revision }) => revision);
    assert.equal(new Set(revisions).size, 200);
    const recorder = new Recorder();
    await store.watch(prefix, from, recorder, new AbortController().signal);
    await until(() => recorder.changes.length >= 200, 'all changes are seen');
    const seen = recorder.changes.map(({ revision }) => revision);
    assert.deepEqual(
      seen,
      revisions.toSorted((a, b) => a - b),
    );
    for (const { key, entry, revision } of recorder.changes) {
      const index = keys.indexOf(key);
      const commits = entry?.value === key ? created : deleted;
      assert.equal(commits[index]?.revision, revision);
    }
  });

  it('accepts 125 keys per commit and rejects more or duplicate keys', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    const writes = Array.from({ length: maxWrites + 1 }, (unused, i) => ({ key: `${prefix}${i}`, value: '' }));
    const revision = await committed(store, ...writes.slice(1));
    await assert.rejects(store.commit(writes), { code: 'STORE_INVALID_COMMIT' });
    const twice = { key: `${prefix}a`, value: '' };
    await assert.rejects(store.commit([twice, { ...twice, value: undefined }]), { code: 'STORE_INVALID_COMMIT' });
    assert.equal(store.revision, revision);
    assert.equal((await store.range(prefix)).entries.length, maxWrites);
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
