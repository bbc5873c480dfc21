import assert from 'node:assert/strict';
import { mkdirSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';

import { committed } from '../testing/open.ts';
import type { Notice } from './protocol.ts';
import { openSqliteStore } from './sqlite.ts';
import { folder } from './testing/folder.ts';
import { checkMigrated, place, placeLarge, rowsOf, valuesOf } from './testing/format-1.ts';

describe('a store of format 1', () => {
  it('is copied and migrated when it is opened', async () => {
    await using directory = await folder();
    const file = place(directory.path);
    const notices: Notice[] = [];
    const options = { path: file, onNotice: (notice: Notice): unknown => notices.push(notice) };
    await using store = await openSqliteStore(options);
    assert.deepEqual(notices, [{ message: 'migrated the store', keys: { file, backup: `${file}.format-1` } }]);
    await store.close();
    await checkMigrated(file);
    await using again = await openSqliteStore(options);
    assert.equal(notices.length, 1);
    await committed(again, { key: '/registry/a', value: '{}' });
  });

  it('is unchanged when the disk is full and migrated when there is space', async () => {
    await using directory = await folder();
    const file = placeLarge(join(directory.path, 'store.db'));
    const expected = valuesOf(rowsOf(file));
    const error = { code: 'STORE_DATA_DIRECTORY', message: `the disk that holds ${file} is full: free some space` };
    await assert.rejects(openSqliteStore({ path: file, maxBytes: statSync(file).size }), error);
    assert.deepEqual(valuesOf(rowsOf(file)), expected);
    await using store = await openSqliteStore({ path: file });
    assert.equal((await store.range('')).entries.length, expected.size);
  });

  it('is rejected with the name of the copy if it cannot be created', async () => {
    await using directory = await folder();
    const file = place(directory.path);
    const backup = `${file}.format-1`;
    mkdirSync(backup);
    const message = new RegExp(`^${backup} cannot be used: EISDIR`);
    await assert.rejects(openSqliteStore({ path: file }), { code: 'STORE_DATA_DIRECTORY', message });
    rmdirSync(backup);
    writeFileSync(`${backup}.tmp`, 'left by an earlier attempt');
    await checkMigrated(file);
  });

  it('treats values that are not JSON as damaged records', async () => {
    await using directory = await folder();
    const file = place(directory.path);
    const key = '/registry/configmaps/default/text';
    {
      using database = new DatabaseSync(file);
      database.prepare(`UPDATE log SET value = replace(value, '":{', '"({') WHERE key = ?`).run(key);
    }
    await using store = await openSqliteStore({ path: file });
    assert.deepEqual([...store.status().damaged.keys()], [key]);
    assert.equal(await store.get(key), undefined);
    await committed(store, { key, value: undefined });
    assert.equal(store.status().damaged.size, 0);
  });
});
