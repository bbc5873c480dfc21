import assert from 'node:assert/strict';
import { readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

import { BackupError } from '../errors.ts';
import type { Entry } from '../store.ts';
import { Recorder } from '../testing/recorder.ts';
import { committed } from '../testing/open.ts';
import type { Restored } from './restore.ts';
import { restoreSqliteStore } from './restore.ts';
import { openSqliteStore } from './sqlite.ts';
import { folder } from './testing/folder.ts';

const keyOf = (index: number): string => `/registry/maps/${String(index).padStart(6, '0')}`;

async function* records(count: number, end?: Error): AsyncGenerator<Entry, void> {
  for (let index = 0; index < count; index++) {
    yield { key: keyOf(index), value: `{"n":${index}}`, revision: 10 + index, created: 10 };
  }
  if (end !== undefined) throw end;
}

const restore = (path: string, options: Partial<Parameters<typeof restoreSqliteStore>[0]> = {}): Promise<Restored> =>
  restoreSqliteStore({ path, records: records(3), after: 5000, overwrites: false, ...options });

describe('a restored store', () => {
  it('has all records, at revisions after those of the backup, and rejects watches from before', async () => {
    await using directory = await folder();
    const count = 3000;
    const restored = await restore(directory.path, { records: records(count) });
    assert.deepEqual(restored, { records: count, revision: 5001 + Math.floor(count / 128) });
    await using store = await openSqliteStore({ path: directory.path });
    assert.equal(store.revision, restored.revision);
    const { entries } = await store.range('');
    assert.deepEqual(
      entries.map(({ key, value }) => [key, value]),
      Array.from({ length: count }, (_, index) => [keyOf(index), `{"n":${index}}`]),
    );
    assert.ok(entries.every(({ revision, created }) => revision > 5000 && created === revision));
    const watch = (from: number): Promise<void> => store.watch('', from, new Recorder(), new AbortController().signal);
    await assert.rejects(watch(5000), { code: 'STORE_COMPACTED' });
    await watch(restored.revision);
    assert.equal(await committed(store, { key: keyOf(1), value: '{}' }), restored.revision + 1);
  });

  it('is private and durable: nothing else is left', async () => {
    await using directory = await folder();
    await restore(directory.path);
    assert.deepEqual(readdirSync(directory.path).toSorted(), ['store.db', 'store.db-revision']);
    for (const name of readdirSync(directory.path)) {
      assert.equal(statSync(join(directory.path, name)).mode & 0o777, 0o600, name);
    }
  });

  it('is rejected where a store exists, unless overwriting is requested, and keeps the previous store', async () => {
    await using directory = await folder();
    const path = join(directory.path, 'store.db');
    await using before = await openSqliteStore({ path });
    for (let i = 0; i < 20; i++) await committed(before, { key: '/registry/old', value: `{"i":${i}}` });
    const { revision } = before;
    const inUse = { code: 'STORE_DATA_DIRECTORY', message: new RegExp(`^${path} is in use by another process`) };
    await assert.rejects(restore(path, { overwrites: true }), inUse);
    await before.close();
    const message = `${path} exists: pass --overwrite to replace it, or choose another data directory`;
    await assert.rejects(restore(path), { code: 'STORE_DATA_DIRECTORY', message });
    const replaced = join(directory.path, 'store.replaced.db');
    const restored = await restore(path, { overwrites: true, after: 3 });
    assert.deepEqual(restored, { records: 3, revision: revision + 1, replaced });
    await using store = await openSqliteStore({ path });
    assert.equal(await store.get('/registry/old'), undefined);
    await using kept = await openSqliteStore({ path: replaced });
    assert.equal((await kept.get('/registry/old'))?.value, '{"i":19}');
  });

  it('replaces a store that cannot be read, or that is lost', async () => {
    await using directory = await folder();
    const path = join(directory.path, 'store.db');
    await (await openSqliteStore({ path })).close();
    writeFileSync(path, 'not a database');
    await restore(path, { overwrites: true });
    truncateSync(path, 8192);
    const { revision } = await restore(path, { overwrites: true, after: 1 });
    assert.ok(revision > 5000, 'revisions continue after those of the lost store');
    await using store = await openSqliteStore({ path });
    assert.equal((await store.range('')).entries.length, 3);
  });

  it('leaves the existing store unchanged when the backup is damaged, and can be repeated', async () => {
    await using directory = await folder();
    const damaged = { records: records(5000, new BackupError('truncated')), overwrites: true };
    await assert.rejects(restore(directory.path, damaged), { code: 'STORE_BACKUP' });
    assert.deepEqual(readdirSync(directory.path), []);
    await restore(directory.path);
    await assert.rejects(restore(directory.path, { ...damaged, records: records(9, new BackupError('truncated')) }));
    assert.deepEqual(readdirSync(directory.path).toSorted(), ['store.db', 'store.db-revision']);
    await using store = await openSqliteStore({ path: directory.path });
    assert.equal((await store.range('')).entries.length, 3);
  });

  it('names the file that cannot be written', async () => {
    await using directory = await folder();
    const file = join(directory.path, 'file');
    writeFileSync(file, '');
    await assert.rejects(restore(join(file, 'below')), { code: 'STORE_DATA_DIRECTORY', message: /below|file/ });
  });
});
