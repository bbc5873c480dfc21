// A store of format 1; see README.md.

import assert from 'node:assert/strict';
import { copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { Recorder } from '../../testing/recorder.ts';
import { openSqliteStore } from '../sqlite.ts';

/** The path of a file in this folder. */
export const besideThis = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** A row of the table `log`. */
export interface LogRow {
  readonly id: number;
  readonly key: string;
  readonly value: string | null;
}

/** The rows of a log of any format. */
export function rowsOf(file: string): readonly LogRow[] {
  // Immutable: SQLite creates no files beside it.
  using database = new DatabaseSync(new URL('?immutable=1', pathToFileURL(file)), { readOnly: true });
  return database
    .prepare('SELECT id, key, value FROM log ORDER BY id')
    .all()
    .map(({ id, key, value }) => ({ id: Number(id), key: String(key), value: value === null ? null : String(value) }));
}

/** The last value of each key. */
export function valuesOf(rows: readonly LogRow[]): Map<string, string> {
  const values = new Map<string, string>();
  for (const { key, value } of rows) {
    if (value === null) values.delete(key);
    else values.set(key, value);
  }
  return values;
}

/** Places a store of format 1 into a directory. */
export function place(directory: string): string {
  const file = join(directory, 'store.db');
  copyFileSync(besideThis('format-1.db'), file);
  return file;
}

/** Places a store of format 1 with about 10 MB. */
export function placeLarge(file: string): string {
  copyFileSync(besideThis('format-1.db'), file);
  using database = new DatabaseSync(file);
  database.exec(`
    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 50000)
    INSERT INTO log SELECT (74 + n) * 128, '/registry/large/' || n, '"' || hex(randomblob(50)) || '"', 74 + n, 0
    FROM numbers`);
  return file;
}

/** Opens a store created by `place`, and checks its content and the copy. */
export async function checkMigrated(file: string): Promise<void> {
  await using store = await openSqliteStore({ path: file });
  assert.deepEqual([store.revision, store.compacted], [74, 70]);
  const { entries } = await store.range('');
  const expected = valuesOf(rowsOf(besideThis('format-1.db')));
  assert.deepEqual(new Map(entries.map(({ key, value }) => [key, value])), expected);
  assert.match(expected.get('/registry/configmaps/default/text') ?? '', /Grüße, 日本 😀/);
  const recorder = new Recorder();
  await store.watch('/registry/services/', 70, recorder, new AbortController().signal);
  assert.deepEqual(
    recorder.changes.map(({ key, revision, entry }) => `${revision} ${key.slice(19)} ${entry === undefined}`),
    ['71 default/web false', '72 default/web false', '73 default/web false', '74 default/gone true'],
  );
  assert.deepEqual(rowsOf(`${file}.format-1`), rowsOf(besideThis('format-1.db')));
  assert.equal(statSync(`${file}.format-1`).mode & 0o777, 0o600);
}
