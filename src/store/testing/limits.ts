import assert from 'node:assert/strict';
import { it } from 'node:test';

import type { OpenStore } from './open.ts';
import { committed } from './open.ts';
import { until } from './recorder.ts';

/** Registers the tests of the size limit and the quota. */
export function limitsContract(open: OpenStore): void {
  it('rejects a value over the limit with both sizes in bytes', async () => {
    const { store, prefix } = await open({ maxValueBytes: 1000 });
    await using _ = store;
    const before = await committed(store, { key: `${prefix}a`, value: 'é'.repeat(500) });
    const tooLarge = { code: 'STORE_VALUE_TOO_LARGE', bytes: 1002, limit: 1000 };
    await assert.rejects(store.commit([{ key: `${prefix}b`, value: 'é'.repeat(501) }]), tooLarge);
    await assert.rejects(
      store.commit([
        { key: `${prefix}c`, value: '' },
        { key: `${prefix}a`, value: 'x'.repeat(1002) },
      ]),
      tooLarge,
    );
    assert.equal(store.revision, before);
  });

  it('reports a conflict before the size of a value', async () => {
    const { store, prefix } = await open({ maxValueBytes: 10 });
    await using _ = store;
    const commit = await store.commit([{ key: `${prefix}a`, value: 'x'.repeat(20), expect: 5 }]);
    assert.equal(commit.ok, false);
  });

  it('reads, shrinks and deletes a value that is over the limit', async () => {
    const { store, prefix } = await open({ maxValueBytes: 1000 });
    await using _ = store;
    const [key, other] = [`${prefix}a`, `${prefix}b`];
    // Only a deletion may write such a value here; an older store may contain one.
    await committed(store, { key, value: 'x'.repeat(3000), isDeletion: true });
    assert.equal((await store.get(key))?.value.length, 3000);
    await assert.rejects(store.commit([{ key, value: 'y'.repeat(3000) }]), { code: 'STORE_VALUE_TOO_LARGE' });
    await committed(store, { key, value: 'y'.repeat(2999) });
    await committed(store, { key: other, value: '' }, { key, value: 'z'.repeat(1500) });
    await committed(store, { key, value: undefined });
  });

  it('accepts only deletions and writes that do not grow the store when the quota is reached', async () => {
    const { store, prefix } = await open({ quotaBytes: 100_000, maxValueBytes: 10_000 });
    await using _ = store;
    assert.equal(store.status().quotaReached, undefined);
    const value = 'x'.repeat(9000);
    let count = 0;
    const fill = async (): Promise<void> => {
      for (;;) await committed(store, { key: `${prefix}${count++}`, value });
    };
    await assert.rejects(fill(), {
      code: 'STORE_QUOTA_EXCEEDED',
      message:
        /^etcdserver: mvcc: database space exceeded: the store holds \d+ bytes of 100000: delete objects or raise/,
    });
    assert.equal(count, 12); // 11 fit
    const { bytes, quotaReached } = store.status();
    assert.ok(quotaReached === 'store' && bytes <= 100_000);
    await assert.rejects(committed(store, { key: `${prefix}0`, value: `${value}y` }), { code: 'STORE_QUOTA_EXCEEDED' });
    await committed(store, { key: `${prefix}0`, value: 'y'.repeat(9000) });
    await committed(store, { key: `${prefix}1`, value: 'short' });
    await committed(store, { key: `${prefix}2`, value: `${value}, deleted`, isDeletion: true });
    for (let i = 0; i < 5; i++) await committed(store, { key: `${prefix}${i}`, value: undefined });
    await store.compact(store.revision);
    assert.equal(store.status().quotaReached, undefined);
    await committed(store, { key: `${prefix}new`, value });
  });

  it('counts text beyond ASCII by its size in memory', async () => {
    const { store, prefix } = await open();
    await using _ = store;
    const { bytes } = store.status();
    await committed(store, { key: `${prefix}a`, value: `日${'x'.repeat(999)}` });
    assert.equal(store.status().bytes, bytes + prefix.length + 1 + 2000);
  });

  it('counts pending commits towards the quota', async () => {
    const { store, prefix } = await open({ quotaBytes: 100_000, maxValueBytes: 10_000 });
    await using _ = store;
    const value = 'x'.repeat(9000);
    const results = await Promise.allSettled(
      Array.from({ length: 100 }, (unused, i) => store.commit([{ key: `${prefix}${i}`, value }])),
    );
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 11);
    assert.ok(store.status().bytes <= 100_000);
  });

  it('limits the history by the quota when values of the same size are rewritten', async () => {
    const { store, prefix } = await open({ quotaBytes: 100_000, maxValueBytes: 10_000 });
    await using _ = store;
    for (let i = 0; i < 200; i++) {
      await committed(store, { key: `${prefix}a`, value: String(i).padStart(9000) }).catch(async (error: unknown) => {
        assert.equal((error as { code?: string }).code, 'STORE_QUOTA_EXCEEDED');
        const { compacted } = store;
        await until(() => store.compacted > compacted, 'history is compacted');
      });
      assert.ok(store.status().bytes <= 125_000, `${store.status().bytes} bytes`);
    }
    assert.ok(store.compacted > 100);
    const { entries } = await store.range(prefix, { revision: store.compacted });
    assert.equal(entries.length, 1);
  });
}
