import assert from 'node:assert/strict';
import type { ChildProcessByStdio } from 'node:child_process';
import { spawn } from 'node:child_process';
import { open as openFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { committed } from '../testing/open.ts';
import { Recorder } from '../testing/recorder.ts';
import { storeContract } from '../testing/contract.ts';
import { openSqliteStore } from './sqlite.ts';
import { folder } from './testing/folder.ts';

storeContract('sqlite', async (limits) => {
  const directory = await folder();
  const store = await openSqliteStore({ path: directory.path, ...limits });
  const close = store.close.bind(store);
  let closed: Promise<void> | undefined;
  // The suite closes every store; the folder is removed with it.
  store.close = () => (closed ??= close().then(() => directory[Symbol.asyncDispose]()));
  store[Symbol.asyncDispose] = () => store.close();
  return { store, prefix: '/test/' };
});

describe('sqlite store file', () => {
  it('is accessible only to its owner', async () => {
    await using directory = await folder();
    const path = join(directory.path, 'new', 'data');
    await using store = await openSqliteStore({ path });
    await committed(store, { key: 'a', value: '' });
    const modeOf = async (file: string): Promise<string> => ((await stat(file)).mode & 0o777).toString(8);
    assert.equal(await modeOf(path), '700');
    assert.equal(await modeOf(join(path, 'store.db')), '600');
    assert.equal(await modeOf(join(path, 'store.db-wal')), '600');
  });

  it('restores values, history, revision and horizon when it is reopened', async () => {
    await using directory = await folder();
    const path = join(directory.path, 'mine.db');
    let from: number;
    {
      await using store = await openSqliteStore({ path });
      await committed(store, { key: 'a', value: '1' }, { key: 'b', value: 'é日' });
      await committed(store, { key: 'a', value: '2' });
      from = await committed(store, { key: 'c', value: '3' });
      await store.compact(from);
      await committed(store, { key: 'a', value: undefined }, { key: 'c', value: '4' });
      await committed(store, { key: 'a', value: '5' });
    }
    for (const round of [1, 2]) {
      await using store = await openSqliteStore({ path });
      assert.deepEqual([store.revision, store.compacted], [from + 2, from], `round ${round}`);
      assert.deepEqual((await store.range('')).entries, [
        { key: 'a', value: '5', revision: from + 2, created: from + 2 },
        { key: 'b', value: 'é日', revision: 2, created: 2 },
        { key: 'c', value: '4', revision: from + 1, created: from },
      ]);
      const old = await store.range('', { revision: from });
      assert.deepEqual(
        old.entries.map(({ value }) => value),
        ['2', 'é日', '3'],
      );
      const recorder = new Recorder();
      await store.watch('', from, recorder, new AbortController().signal);
      assert.deepEqual(recorder.texts([from, from + 1, from + 2, from + 3]), ['1 a=gone<2', '1 c=4<3', '2 a=5<none']);
      await assert.rejects(store.range('', { revision: from - 1 }), { code: 'STORE_COMPACTED' });
    }
  });

  it('never decreases the revision, even without data', async () => {
    await using directory = await folder();
    const { path } = directory;
    let last: number;
    {
      await using store = await openSqliteStore({ path });
      for (let i = 0; i < 10; i++) await committed(store, { key: 'a', value: String(i) });
      last = await committed(store, { key: 'a', value: undefined });
      await store.compact(last);
    }
    await using store = await openSqliteStore({ path });
    assert.deepEqual([store.revision, store.compacted], [last, last]);
    assert.equal(await committed(store, { key: 'a', value: '' }), last + 1);
  });

  it('continues an interrupted compaction', async () => {
    await using directory = await folder();
    const path = join(directory.path, 'store.db');
    {
      await using store = await openSqliteStore({ path });
      const keys = Array.from({ length: 1000 }, (unused, i) => `k${i % 10}`);
      await Promise.all(keys.map((key, i) => committed(store, { key, value: String(i) })));
      // Close does not wait for the sweep, which may still finish first.
      const compacted = store.compact(store.revision).then(
        () => 'done',
        (error: { code?: string }) => error.code,
      );
      await store.close();
      assert.match((await compacted) ?? '', /^(done|STORE_UNAVAILABLE)$/);
    }
    {
      await using store = await openSqliteStore({ path });
      assert.equal((await store.range('')).entries.length, 10);
      await committed(store, { key: 'k0', value: 'x' });
      await store.compact(store.revision);
    }
    using database = new DatabaseSync(path);
    assert.deepEqual({ ...database.prepare('SELECT count(*) AS rows FROM log').get() }, { rows: 10 });
  });

  it('has a bounded size under compaction', async () => {
    await using directory = await folder();
    await using store = await openSqliteStore({ path: directory.path });
    const value = 'x'.repeat(20_000);
    const sizes: number[] = [];
    for (let round = 0; round < 6; round++) {
      const keys = Array.from({ length: 200 }, (unused, i) => `k${i % 20}`);
      await Promise.all(keys.map((key) => committed(store, { key, value })));
      await store.compact(store.revision);
      sizes.push((await stat(join(directory.path, 'store.db'))).size);
    }
    assert.ok(Math.max(...sizes) < 4_000_000, `24 MB written, 0.4 MB left, file sizes ${sizes.join(' ')}`);
  });

  it('rejects writes when the disk is full and accepts them when there is space', async () => {
    await using directory = await folder();
    await using store = await openSqliteStore({ path: directory.path, maxBytes: 2_000_000 });
    const value = 'x'.repeat(10_000);
    let acknowledged = 0;
    const fill = async (): Promise<void> => {
      for (;;) acknowledged = await committed(store, { key: 'a', value: value + acknowledged }, { key: 'b', value });
    };
    await assert.rejects(fill(), { code: 'STORE_UNAVAILABLE', message: /store\.db is full: free some space/ });
    assert.ok(acknowledged > 50, `only ${acknowledged} revisions fit`);
    assert.equal(store.revision, acknowledged);
    assert.equal((await store.get('a'))?.revision, acknowledged);
    await store.compact(store.revision);
    assert.equal(await committed(store, { key: 'a', value }), acknowledged + 1);
    await store.close();
    await using again = await openSqliteStore({ path: directory.path });
    assert.equal(again.revision, acknowledged + 1);
  });
});

describe('sqlite store and other processes', () => {
  it('is locked against other processes', async () => {
    await using directory = await folder();
    await using store = await openSqliteStore({ path: directory.path });
    await committed(store, { key: 'a', value: '' });
    const output = await text(writer(directory.path).stdout);
    assert.match(output, /^STORE_DATA_DIRECTORY .*store\.db is in use by another process: stop it/);
  });

  it('has every acknowledged write and no partial commit after kill -9', async () => {
    await using directory = await folder();
    const { path } = directory;
    let revision = 0;
    for (let round = 0; round < 10; round++) {
      const acknowledged = await killedWriter(path, 40 + 30 * round);
      await using store = await openSqliteStore({ path });
      assert.ok(store.revision >= revision);
      ({ revision } = store);
      for (const [key, ack] of acknowledged) {
        assert.ok(ack.revision <= revision);
        const [one, other] = [await store.get(`one/${key}`), await store.get(`other/${key}`)];
        assert.deepEqual([one?.value, one?.revision], [other?.value, other?.revision]);
        assert.ok(Number(one?.value) >= ack.value, `round ${round}: ${key} is ${one?.value}, ${ack.value} was written`);
      }
    }
    assert.ok(revision > 400, `only ${revision} revisions were written`);
  });
});

/** A process that writes to the store until it is killed. */
const writer = (path: string): ChildProcessByStdio<null, Readable, null> =>
  spawn(process.execPath, [fileURLToPath(new URL('./testing/writer.ts', import.meta.url)), path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });

/** Kills a writer after some acknowledgements; returns the last one of each key. */
async function killedWriter(path: string, after: number): Promise<Map<string, { revision: number; value: number }>> {
  const child = writer(path);
  const acknowledged = new Map<string, { revision: number; value: number }>();
  let count = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const [key, value, revision] = line.split(' ');
    assert.ok(key !== undefined && revision !== undefined, `the writer printed ${line}`);
    acknowledged.set(key, { revision: Number(revision), value: Number(value) });
    if (++count === after) child.kill('SIGKILL');
  }
  assert.ok(count >= after, `the writer ended after ${count} writes`);
  return acknowledged;
}

describe('sqlite store that cannot be opened', () => {
  const broken: readonly { name: string; make: (file: string) => void | Promise<void>; message: RegExp }[] = [
    {
      name: 'text',
      make: (file) => writeFile(file, 'this is not a database. '.repeat(100)),
      message: /is corrupt .*restore it from a backup, or move it away and start once with --accept-data-loss/,
    },
    {
      name: 'a torn page',
      make: tear,
      message: /corrupt .*restore it from a backup, or move it away and start once with --accept-data-loss/,
    },
    {
      name: 'another database',
      make: (file) => withDatabase(file, 'CREATE TABLE t (x)'),
      message: /holds something else: move it away/,
    },
    {
      name: 'a newer format',
      make: newer,
      message: /written by a newer release \(format 3\): use that release or a newer one/,
    },
  ];
  for (const { name, make, message } of broken) {
    it(`is rejected with the fix: ${name}`, async () => {
      await using directory = await folder();
      const file = join(directory.path, 'store.db');
      await make(file);
      await assert.rejects(openSqliteStore({ path: directory.path }), { code: 'STORE_DATA_DIRECTORY', message });
    });
  }

  it('is rejected with the fix: a file in place of the directory', async () => {
    await using directory = await folder();
    const path = join(directory.path, 'data');
    await writeFile(path, '');
    const error = { code: 'STORE_DATA_DIRECTORY', message: /data.* is or lies in a file: choose another/ };
    await assert.rejects(openSqliteStore({ path }), error);
    await assert.rejects(openSqliteStore({ path: join(path, 'below') }), error);
  });

  it('is rejected with the fix: already open', async () => {
    await using directory = await folder();
    await using store = await openSqliteStore({ path: directory.path });
    const error = { code: 'STORE_DATA_DIRECTORY', message: /in use by another process: stop it or choose another/ };
    await assert.rejects(openSqliteStore({ path: directory.path }), error);
    await committed(store, { key: 'a', value: '' });
    await store.close();
    await (await openSqliteStore({ path: directory.path })).close();
  });
});

function withDatabase(file: string, sql: string): void {
  using database = new DatabaseSync(file);
  database.exec(sql);
}

async function newer(file: string): Promise<void> {
  await (await openSqliteStore({ path: file })).close();
  withDatabase(file, 'PRAGMA user_version = 3');
}

async function tear(file: string): Promise<void> {
  {
    await using store = await openSqliteStore({ path: file });
    for (let i = 0; i < 100; i++) await committed(store, { key: `k${i}`, value: 'x'.repeat(1000) });
  }
  await using handle = await openFile(file, 'r+');
  await handle.write(Buffer.alloc(3000, 0xa5), 0, 3000, 5 * 8192);
}
