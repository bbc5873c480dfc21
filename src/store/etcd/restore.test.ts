import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { after, before, suite, test } from 'node:test';

import { CompactedError } from '../errors.ts';
import type { Entry, Store } from '../store.ts';
import { committed } from '../testing/open.ts';
import { Recorder, until } from '../testing/recorder.ts';
import { EtcdClient } from './client.ts';
import { firstEpoch, putsEpoch } from './epoch.ts';
import type { EtcdStoreOptions } from './etcd.ts';
import { openEtcdStore } from './etcd.ts';
import { Keys } from './keys.ts';
import { bytesOfText, range, txn } from './messages.ts';
import type { EtcdRestoreOptions } from './restore.ts';
import { restoreEtcdStore } from './restore.ts';
import type { TestEtcd } from './testing/etcd.ts';
import { etcdProgram, startEtcd } from './testing/etcd.ts';

const owner = { name: 'east', authorities: ['A'], isAdopting: false };
const keyOf = (index: number): string => `/registry/maps/${String(index).padStart(6, '0')}`;

async function* records(
  count: number,
  { value = 'x', end }: { value?: string; end?: Error } = {},
): AsyncGenerator<Entry> {
  for (let index = 0; index < count; index++) yield { key: keyOf(index), value, revision: 10 + index, created: 10 };
  if (end !== undefined) throw end;
}

/** Repeats what fails while etcd does not serve. */
async function eventually<T>(run: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + 30_000; ;) {
    try {
      return await run();
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
  }
}

suite('a state that is restored in etcd', { skip: etcdProgram === undefined && 'needs etcd on the path' }, () => {
  let etcd: TestEtcd;
  let count = 0;
  before(async () => (etcd = await startEtcd({ isDurable: false })));
  after(() => etcd[Symbol.asyncDispose]());

  const address = (): { endpoints: readonly string[]; prefix: string } => ({
    endpoints: etcd.urls,
    prefix: `/restore${++count}`,
  });
  type At = ReturnType<typeof address>;
  const open = (at: At, options: Partial<EtcdStoreOptions> = {}): Promise<Store> =>
    openEtcdStore({ ...at, owner, ...options });
  const restore = (at: At, options: Partial<EtcdRestoreOptions> = {}): Promise<{ records: number; revision: number }> =>
    restoreEtcdStore({ ...at, cluster: 'east', records: records(3), after: 5000, overwrites: false, ...options });
  const valuesOf = async (store: Store): Promise<readonly string[]> =>
    (await store.range('/registry/')).entries.map(({ key, value }) => `${key.slice(-1)}=${value}`);

  test('has all records, at revisions after those of the backup, and rejects watches from before', async () => {
    const at = address();
    const restored = await restore(at, { records: records(1234), after: 5_000_000 });
    assert.equal(restored.records, 1234);
    await using store = await open(at);
    assert.equal(store.revision, restored.revision);
    const { entries } = await store.range('');
    assert.deepEqual(
      entries.map(({ key, value }) => [key, value]),
      Array.from({ length: 1234 }, (_, index) => [keyOf(index), 'x']),
    );
    assert.ok(entries.every(({ revision, created }) => revision > 5_000_000 && created === revision));
    const watch = (from: number): Promise<void> => store.watch('', from, new Recorder(), new AbortController().signal);
    await assert.rejects(watch(5_000_000), { code: 'STORE_COMPACTED' });
    await watch(restored.revision);
    const [first] = entries;
    assert.ok((await store.commit([{ key: keyOf(0), value: 'y', expect: first?.revision ?? 0 }])).ok);
  });

  test('replaces that of servers that run: their clients list again, and all of them agree', async () => {
    const at = address();
    await using first = await open(at);
    await using second = await open(at);
    const old = await committed(first, { key: keyOf(7), value: 'old' });
    const { entries } = await second.range('');
    const observed = new Recorder();
    await second.watch('', second.revision, observed, new AbortController().signal);
    await restore(at, { overwrites: true });
    await until(() => observed.ends.length > 0, 'the watch ends');
    assert.ok(observed.ends[0] instanceof CompactedError);
    assert.deepEqual(observed.changes, []);
    for (const store of [first, second]) assert.deepEqual(await valuesOf(store), ['0=x', '1=x', '2=x']);
    assert.ok(first.revision > old);
    const outdated = await first.commit([{ key: keyOf(7), value: 'new', expect: entries[0]?.revision ?? 0 }]);
    assert.equal(outdated.ok, false);
    const revision = await committed(first, { key: keyOf(7), value: 'new' });
    assert.equal((await second.get(keyOf(7)))?.revision, revision);
  });

  test('is not written to by a server that has not loaded it', async () => {
    const at = address();
    await using store = await open(at);
    await committed(store, { key: keyOf(0), value: 'old' });
    const keys = new Keys(at.prefix);
    using client = new EtcdClient(at);
    await client.call(txn, { compare: [], success: [putsEpoch(keys, { ...firstEpoch, restore: 'id' })] });
    // Whether or not the server has received the event already.
    await assert.rejects(store.commit([{ key: keyOf(1), value: 'lost' }]), { code: /STORE_UN/ });
    const { kvs } = await client.call(range, { key: keys.toEtcd(keyOf(1)) });
    assert.deepEqual(kvs, []);
    await restore(at);
    assert.deepEqual(await valuesOf(store), ['0=x', '1=x', '2=x']);
  });

  test('is not used before it is complete, and can be completed', async () => {
    const at = address();
    await restore(at);
    using client = new EtcdClient(at);
    const keys = new Keys(at.prefix);
    const rest = { type: 'put', key: keys.toEtcd(keyOf(9)), value: bytesOfText('of the interrupted one') } as const;
    await client.call(txn, { compare: [], success: [rest, putsEpoch(keys, { ...firstEpoch, restore: 'id' })] });
    await assert.rejects(open(at), {
      code: 'STORE_ETCD_PREFIX',
      message: `the etcd prefix ${at.prefix} has an incomplete restore: repeat \`fairlead store restore\` or \`fairlead store copy\``,
    });
    await restore(at);
    await using store = await open(at);
    assert.deepEqual(await valuesOf(store), ['0=x', '1=x', '2=x']);
  });

  test('is that of one of two restores that run at once', async () => {
    const at = address();
    for (let round = 0; round < 5; round++) {
      const results = await Promise.allSettled(
        ['a', 'b'].map(async (value) => {
          await restore(at, { records: records(300, { value }), overwrites: true });
          return value;
        }),
      );
      await using store = await open(at);
      const values = new Set((await store.range('')).entries.map(({ value }) => value));
      const succeeded = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      assert.ok(succeeded.length > 0);
      assert.equal(values.size, 1);
      assert.ok(succeeded.includes([...values][0] ?? ''));
    }
  });

  test('is not begun when the backup is damaged, or the prefix is not that of the cluster', async () => {
    const at = address();
    using client = new EtcdClient(at);
    const { header } = await client.call(range, { key: '/', isCountOnly: true });
    await assert.rejects(restore(at, { records: records(200, { end: new Error('damaged') }) }), /damaged/);
    const { header: after } = await client.call(range, { key: '/', isCountOnly: true });
    assert.equal(after.revision, header.revision);
    await restore(at);
    const refused: readonly (readonly [options: Partial<EtcdRestoreOptions>, message: RegExp])[] = [
      [{}, /^the etcd prefix \/restore\d+ has the state of cluster "east": pass --overwrite to replace it, or use/],
      [{ overwrites: true, cluster: 'west' }, /belongs to cluster "east", not "west": use another prefix$/],
      [
        { prefix: `${at.prefix}/foreign`, overwrites: true },
        /has keys of another program, such as \/restore\d+\/foreign/,
      ],
      [
        { prefix: `${at.prefix}/newer`, overwrites: true },
        /was written by a newer release \(format 2\): use that release/,
      ],
    ];
    for (const [name, value] of [
      ['/foreign/services/a', '{}'],
      ['/newer/fairlead/owner', '{"format":2}'],
    ]) {
      const put = { type: 'put', key: `${at.prefix}${name}`, value: bytesOfText(value ?? '') } as const;
      await client.call(txn, { compare: [], success: [put] });
    }
    for (const [options, message] of refused) {
      await assert.rejects(restore(at, options), { code: 'STORE_ETCD_PREFIX', message });
    }
  });

  test('names a value that etcd does not accept', async () => {
    const at = address();
    const large = records(2, { value: 'x'.repeat(1_600_000) });
    await assert.rejects(restore(at, { records: large }), {
      code: 'STORE_BACKUP',
      message:
        /^etcd does not accept the value of \/restore\d+\/maps\/000000: start etcd with a larger --max-request-bytes/,
    });
  });
});

test(
  'revisions do not go back when etcd is restored from a backup of its own',
  { skip: etcdProgram === undefined && 'needs etcd on the path' },
  async () => {
    await using etcd = await startEtcd();
    const [member] = etcd.members;
    assert.ok(member);
    await using first = await openEtcdStore({ endpoints: etcd.urls, owner });
    await using second = await openEtcdStore({ endpoints: etcd.urls, owner });
    const kept = await committed(first, { key: keyOf(0), value: 'kept' });
    const copy = `${member.directory}.copy`;
    await member.stop();
    await cp(member.directory, copy, { recursive: true });
    await member.restart();
    for (let index = 1; index < 50; index++) await committed(second, { key: keyOf(index), value: 'lost' });
    const last = second.revision;
    await first.sync();
    const observed = new Recorder();
    await first.watch('', first.revision, observed, new AbortController().signal);
    await member.stop();
    await rm(member.directory, { recursive: true });
    await cp(copy, member.directory, { recursive: true });
    await member.restart();
    await until(() => observed.ends.length > 0, 'the watch ends');
    for (const store of [first, second]) {
      assert.ok((await eventually(() => committed(store, { key: keyOf(100), value: '' }))) > last);
      assert.deepEqual(
        (await store.range('')).entries.map(({ key }) => key),
        [keyOf(0), keyOf(100)],
      );
      const { revision = 0 } = (await store.get(keyOf(0))) ?? {};
      assert.ok(revision > last, 'the object that was kept has a new revision, too');
      assert.equal((await store.commit([{ key: keyOf(0), value: '', expect: kept }])).ok, false);
    }
  },
);
