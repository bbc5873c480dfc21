import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';

import { commitContract } from '../../store/testing/commits.ts';
import { modelContract } from '../../store/testing/model.ts';
import { rangeContract } from '../../store/testing/ranges.ts';
import { watchContract } from '../../store/testing/watches.ts';
import { openMemoryStore } from '../../store/memory/memory.ts';
import { openSqliteStore } from '../../store/sqlite/sqlite.ts';
import type { Entry, Store } from '../../store/store.ts';
import type { StorageProvider } from './config.ts';
import { EncryptedStore } from './encrypted-store.ts';
import { Transformer } from './transformer.ts';

const provider = (name: string, byte: number): StorageProvider => ({
  type: 'aesgcm',
  keys: [{ name, secret: Buffer.alloc(32, byte) }],
});
const encrypted = async (store: Store, ...providers: readonly StorageProvider[]): Promise<EncryptedStore> => {
  const transformer = await Transformer.create(providers);
  return new EncryptedStore(store, { transformerFor: () => transformer });
};

// Without the limits suite: the quota counts stored bytes, which are more.
for (const contract of [commitContract, rangeContract, watchContract, modelContract]) {
  suite('encrypted memory store', () =>
    contract(async () => ({
      store: await encrypted(openMemoryStore(), provider('key1', 1)),
      prefix: '/test/',
    })),
  );
}

test('stores values in the format of Kubernetes and never in plain text', async () => {
  await using inner = openMemoryStore();
  const store = await encrypted(inner, provider('key1', 1));
  await store.commit([{ key: '/a', value: '{"data":"secret"}' }]);
  const stored = (await inner.get('/a'))?.value ?? '';
  assert.match(stored, /^k8s:enc:aesgcm:v1:key1:[A-Za-z0-9+/]+=*$/);
  assert.doesNotMatch(Buffer.from(stored.slice(23), 'base64').toString('latin1'), /secret/);
});

const secret = 'the-secret-that-no-file-may-contain';

test('no file contains a current, replaced or deleted value in plain text', async () => {
  const path = await mkdtemp(join(tmpdir(), 'fairlead-encrypted-'));
  try {
    await using inner = await openSqliteStore({ path });
    const store = await encrypted(inner, provider('key1', 1));
    for (let index = 0; index < 50; index++) {
      await store.commit([{ key: `/a${index % 10}`, value: `{"data":"${secret}","index":${index}}` }]);
    }
    await store.commit([{ key: '/a1', value: undefined }]);
    await store.compact(store.revision - 10);
    const files = await readdir(path);
    assert.ok(files.includes('store.db-wal'));
    for (const file of files) assert.ok(!(await readFile(join(path, file))).includes(secret), file);
  } finally {
    await rm(path, { recursive: true });
  }
});

test('plain text from before encryption leaves the file after new writes, compaction and VACUUM', async () => {
  const path = await mkdtemp(join(tmpdir(), 'fairlead-encrypted-'));
  const key = '/a';
  const value = `{"data":"${secret}"}`;
  const holdsSecret = async (): Promise<boolean> => {
    const files = await Promise.all((await readdir(path)).map((file) => readFile(join(path, file))));
    return files.some((bytes) => bytes.includes(secret));
  };
  try {
    {
      await using plain = await openSqliteStore({ path });
      for (let index = 0; index < 200; index++) await plain.commit([{ key: `/a${index % 20}`, value }]);
      await plain.commit([{ key, value }]);
    }
    assert.ok(await holdsSecret());
    {
      await using inner = await openSqliteStore({ path });
      const store = await encrypted(inner, provider('key1', 1), { type: 'identity' });
      for (const entry of (await store.range('/')).entries) await store.commit([entry]);
      await store.compact(store.revision);
    }
    const database = new DatabaseSync(join(path, 'store.db'));
    database.exec('VACUUM');
    database.close();
    assert.ok(!(await holdsSecret()));
    await using inner = await openSqliteStore({ path });
    assert.equal((await (await encrypted(inner, provider('key1', 1))).get(key))?.value, value);
  } finally {
    await rm(path, { recursive: true });
  }
});

test('the size limit counts plain bytes', async () => {
  await using inner = openMemoryStore();
  const store = await encrypted(inner, provider('key1', 1));
  const limit = 1.5 * 1024 * 1024;
  assert.ok((await store.commit([{ key: '/a', value: 'x'.repeat(limit) }])).ok);
  await assert.rejects(store.commit([{ key: '/a', value: 'x'.repeat(limit + 1) }]), { code: 'STORE_VALUE_TOO_LARGE' });
});

test('decrypts with every key and marks entries that the first one did not encrypt', async () => {
  await using inner = openMemoryStore();
  const [one, two, plain] = [provider('one', 1), provider('two', 2), { type: 'identity' } as const];
  await inner.commit([{ key: '/plain', value: '{}' }]);
  await (await encrypted(inner, one)).commit([{ key: '/one', value: '{}' }]);
  await (await encrypted(inner, two)).commit([{ key: '/two', value: '{}' }]);
  const states = async (...providers: readonly StorageProvider[]): Promise<string> => {
    const store = await encrypted(inner, ...providers);
    const { entries } = await store.range('/');
    const stateOf = (entry: Entry): string => entry.problem ?? (store.isStale(entry) ? 'stale' : 'current');
    return entries.map((entry) => `${entry.key} ${stateOf(entry)}`).join(', ');
  };
  assert.equal(await states(two, one, plain), '/one stale, /plain stale, /two current');
  assert.equal(await states(plain, two, one), '/one stale, /plain current, /two stale');
  const noKey = 'no matching key was found for the provided AES transformer';
  assert.equal(await states(two), `/one ${noKey}, /plain no matching prefix found, /two current`);
  assert.equal(await states(plain), '/one no matching prefix found, /plain current, /two no matching prefix found');
  const wrong = 'cipher: message authentication failed';
  assert.equal(await states(provider('one', 9), plain), `/one ${wrong}, /plain stale, /two ${noKey}`);
  // A key is replaced by another one with the same name.
  assert.equal(await states(provider('one', 9), one, two, plain), '/one stale, /plain stale, /two stale');
});
