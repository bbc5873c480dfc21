// Every kind of damage to the files of a store: it opens without the damaged records or is rejected with one clear line.

import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { committed } from '../testing/open.ts';
import { Recorder } from '../testing/recorder.ts';
import type { Store } from '../store.ts';
import { writeHighestRevision } from './highest-revision.ts';
import type { Notice } from './protocol.ts';
import { openSqliteStore } from './sqlite.ts';
import { folder } from './testing/folder.ts';

const pageBytes = 8192;

/** The content of a store before the damage. */
interface Sample {
  readonly file: string;
  readonly bytes: Buffer;
  /** key → value */
  readonly values: ReadonlyMap<string, string>;
  readonly revision: number;
}

/** A closed store with old and recent values, deletions and a long value, in one file of several pages. */
async function sample(directory: string): Promise<Sample> {
  const file = join(directory, 'store.db');
  const store = await openSqliteStore({ path: file });
  for (let i = 0; i < 40; i++) {
    await committed(store, { key: `/a/${i}`, value: `${i}-${'x'.repeat(150)}` }, { key: `/claim/${i}`, value: `${i}` });
  }
  await committed(store, { key: '/long', value: 'long'.repeat(8000) });
  for (let i = 0; i < 20; i++) await committed(store, { key: `/a/${i}`, value: `${i}-new-${'y'.repeat(50)}` });
  await committed(store, { key: '/a/7', value: undefined }, { key: '/claim/7', value: undefined });
  await store.compact(store.revision - 10);
  for (let i = 10; i < 16; i++) await committed(store, { key: `/a/${i}`, value: `${i}-newest` });
  await committed(store, { key: '/a/9', value: undefined });
  const { entries, revision } = await store.range('');
  await store.close();
  return { file, bytes: readFileSync(file), values: new Map(entries.map(({ key, value }) => [key, value])), revision };
}

/** Opens a damaged file. Served values must be the written ones; missing ones must be reported as damaged. */
async function checkOpening(
  { file, values, revision }: Sample,
  what: string,
): Promise<'opened' | 'damaged' | 'refused'> {
  const notices: Notice[] = [];
  let store: Store;
  try {
    store = await openSqliteStore({ path: file, onNotice: (notice) => notices.push(notice) });
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    assert.equal(code, 'STORE_DATA_DIRECTORY', `${what}: ${message}`);
    assert.ok(message.includes(file) && !message.includes('\n'), `${what}: ${message}`);
    return 'refused';
  }
  await using _ = store;
  const { entries } = await store.range('');
  const { damaged } = store.status();
  for (const { key, value } of entries) assert.equal(value, values.get(key), `${what}: ${key} is served damaged`);
  const served = new Set(entries.map(({ key }) => key));
  const missing = [...values.keys()].filter((key) => !served.has(key));
  const isKeyDamaged = [...damaged.keys()].some((key) => !values.has(key));
  for (const key of missing) {
    assert.ok(damaged.has(key) || isKeyDamaged, `${what}: ${key} is missing and not reported`);
  }
  assert.ok(missing.length <= 2, `${what}: ${missing.length} are missing`);
  for (const key of damaged.keys()) assert.ok(notices.some((notice) => notice.keys['key'] === key));
  assert.ok(store.revision >= revision, what);
  // It accepts writes, also of the damaged key, and notifies watches.
  const recorder = new Recorder();
  await store.watch('', store.revision, recorder, new AbortController().signal);
  await committed(store, { key: '/after', value: 'damage' });
  const records = [...damaged.values()];
  for (const { key, revision: expect } of records) {
    assert.equal((await store.commit([{ key, value: 'new', expect: 0 }])).ok, false, 'a damaged key is not free');
    await committed(store, { key, value: undefined, expect });
    await committed(store, { key, value: 'new', expect: 0 });
  }
  assert.equal(recorder.changes.length, 1 + 2 * records.length);
  assert.equal(store.status().damaged.size, 0);
  await store.compact(store.revision);
  return missing.length > 0 || notices.length > 0 ? 'damaged' : 'opened';
}

describe('a damaged store', () => {
  it('never serves damaged data, whichever byte is changed', async (context) => {
    await using directory = await folder();
    const given = await sample(directory.path);
    const counts = { opened: 0, damaged: 0, refused: 0 };
    const offset = fc.integer({ min: 0, max: given.bytes.length - 1 });
    await fc.assert(
      fc.asyncProperty(offset, fc.integer({ min: 1, max: 255 }), async (at, mask) => {
        const bytes = Buffer.from(given.bytes);
        bytes[at] = (bytes[at] ?? 0) ^ mask;
        restore(given, bytes);
        counts[await checkOpening(given, `byte ${at} ^ ${mask}`)]++;
        // The repair is permanent.
        if ((await openedAgain(given)) > 0) assert.fail(`byte ${at} ^ ${mask}: damaged again after it was deleted`);
      }),
      { numRuns: Number(process.env['FAIRLEAD_DAMAGE_RUNS'] ?? 60) },
    );
    assert.ok(counts.damaged > 10, JSON.stringify(counts));
    context.diagnostic(JSON.stringify(counts));
  });

  it('never serves damaged data, whichever page is zero or truncated', async () => {
    await using directory = await folder();
    const given = await sample(directory.path);
    for (let page = 0; page * pageBytes < given.bytes.length; page++) {
      restore(given, given.bytes.subarray(0, page * pageBytes));
      assert.equal(await checkOpening(given, `${page} pages`), 'refused');
      const bytes = Buffer.from(given.bytes);
      bytes.fill(0, page * pageBytes, (page + 1) * pageBytes);
      restore(given, bytes);
      await checkOpening(given, `page ${page} is zero`);
    }
  });

  it('opens or is rejected when any of its files is missing or empty', async () => {
    await using directory = await folder();
    // A copy of an open store includes its write-ahead log.
    const open = join(directory.path, 'open');
    await using store = await openSqliteStore({ path: open });
    for (let i = 0; i < 20; i++) await committed(store, { key: `/a/${i}`, value: String(i) });
    const names = (await readdir(open)).sort();
    assert.deepEqual(names, ['store.db', 'store.db-revision', 'store.db-wal']);
    await untilContains(join(open, 'store.db-revision'), `${store.revision} `);
    for (const name of names) {
      for (const change of ['removed', 'emptied'] as const) {
        await using copy = await folder();
        for (const each of names) copyFileSync(join(open, each), join(copy.path, each));
        if (change === 'removed') rmSync(join(copy.path, name));
        else writeFileSync(join(copy.path, name), '');
        const opening = openSqliteStore({ path: copy.path });
        if (name === 'store.db-revision') {
          await using opened = await opening;
          assert.equal(opened.revision, store.revision);
        } else {
          const message =
            /store\.db cannot be used: it has lost acknowledged writes: it ends at revision \d+ and had reached 21\. Restore the file and its -wal, or start once with --accept-data-loss/;
          await assert.rejects(opening, { code: 'STORE_DATA_DIRECTORY', message }, `${name} ${change}`);
        }
      }
    }
  });

  it('opens without lost writes when the loss is accepted, and never reuses a revision', async () => {
    await using directory = await folder();
    const given = await sample(directory.path);
    const old = Buffer.from(given.bytes);
    {
      await using store = await openSqliteStore({ path: given.file });
      for (let i = 0; i < 50; i++) await committed(store, { key: '/lost', value: String(i) });
    }
    writeFileSync(given.file, old);
    await assert.rejects(openSqliteStore({ path: given.file }), { message: /has lost acknowledged writes/ });
    const notices: Notice[] = [];
    const onNotice = (notice: Notice): unknown => notices.push(notice);
    {
      await using store = await openSqliteStore({ path: given.file, acceptDataLoss: true, onNotice });
      assert.equal(notices[0]?.message, 'accepted the loss of writes');
      assert.ok(store.revision >= given.revision + 50 + 1_000_000, `revision ${store.revision}`);
      assert.equal(store.compacted, store.revision, 'earlier watches start again');
      assert.equal((await store.range('')).entries.length, given.values.size);
      await committed(store, { key: '/new', value: '' });
    }
    await using store = await openSqliteStore({ path: given.file });
    assert.equal((await store.range('')).entries.length, given.values.size + 1);
  });

  it('deletes its damaged records when the loss is accepted, also with damaged keys', async () => {
    await using directory = await folder();
    const given = await sample(directory.path);
    {
      using database = new DatabaseSync(given.file);
      const change = database.prepare('UPDATE log SET key = ?, value = ? WHERE key = ? AND value IS NOT NULL');
      change.run('/a/30', 'damaged', '/a/30');
      change.run('/no/such/\u{1}', 'x', '/a/31');
    }
    const keysOf = (store: Store): string[] => [...store.status().damaged.keys()].sort((a, b) => (a < b ? -1 : 1));
    {
      await using store = await openSqliteStore({ path: given.file });
      assert.deepEqual(keysOf(store), ['/a/30', '/no/such/\u{1}']);
    }
    {
      await using store = await openSqliteStore({ path: given.file, acceptDataLoss: true });
      assert.deepEqual(keysOf(store), []);
      assert.equal(store.revision, given.revision + 2);
      await committed(store, { key: '/a/30', value: 'new', expect: 0 });
    }
    await using store = await openSqliteStore({ path: given.file });
    assert.deepEqual(keysOf(store), []);
    assert.equal((await store.range('')).entries.length, given.values.size - 1);
  });

  it('reports a record whose key has become that of another one, and serves the other one if it is newer', async () => {
    await using directory = await folder();
    const given = await sample(directory.path);
    for (const [other, isServed] of [
      ['/a/31', true],
      ['/a/29', false], // the damaged record may be a newer one of this key
    ] as const) {
      restore(given, given.bytes);
      {
        using database = new DatabaseSync(given.file);
        database.prepare('UPDATE log SET key = ? WHERE key = ?').run(other, '/a/30');
      }
      await using store = await openSqliteStore({ path: given.file });
      assert.equal(await store.get('/a/30'), undefined);
      assert.equal((await store.get(other)) !== undefined, isServed, other);
      const unknown = [...store.status().damaged.keys()].filter((key) => key !== other);
      assert.match(unknown.join(), new RegExp(`^${other} \\(row \\d+\\)$`));
    }
  });

  it('does not read an older value of a key whose last record is damaged', async () => {
    await using directory = await folder();
    const given = await sample(directory.path);
    for (const [column, damage] of [
      ['value', 'damaged'],
      ['key', '/no/such/key'],
    ] as const) {
      restore(given, given.bytes);
      {
        using database = new DatabaseSync(given.file);
        const last = `(SELECT max(id) FROM log WHERE key = '/a/14')`; // its predecessor is still in the file
        database.prepare(`UPDATE log SET ${column} = ? WHERE id = ${last}`).run(damage);
      }
      await using store = await openSqliteStore({ path: given.file });
      assert.equal(await store.get('/a/14'), undefined, column);
      assert.ok(store.status().damaged.has('/a/14'), column);
      assert.equal((await store.commit([{ key: '/a/14', value: '', expect: 0 }])).ok, false);
      await committed(store, { key: '/a/14', value: undefined });
      await store.compact(store.revision);
    }
  });
});

function restore({ file, revision }: Sample, bytes: Buffer): void {
  rmSync(`${file}-wal`, { force: true });
  writeHighestRevision(file, revision);
  writeFileSync(file, bytes);
}

/** The number of damaged records of a reopened store; 0 if it is rejected. */
async function openedAgain({ file }: Sample): Promise<number> {
  const store = await openSqliteStore({ path: file }).catch(() => undefined);
  await using _ = store;
  return store?.status().damaged.size ?? 0;
}

async function untilContains(file: string, text: string): Promise<void> {
  for (const deadline = Date.now() + 30_000; !readFileSync(file, 'latin1').startsWith(text);) {
    assert.ok(Date.now() < deadline, `${file} does not become ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
