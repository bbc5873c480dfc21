import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

/** Copies a database to `path` atomically: on failure `path` is unchanged. */
export function copyDatabase(database: DatabaseSync, path: string): void {
  const partial = `${path}.tmp`;
  try {
    rmSync(partial, { force: true });
    // VACUUM INTO creates files with the default mode, but accepts an empty file.
    closeSync(openSync(partial, 'wx', 0o600));
    database.prepare('VACUUM INTO ?').run(partial);
    syncPath(partial);
    renameSync(partial, path);
    syncPath(dirname(path));
  } catch (error) {
    rmSync(partial, { force: true, recursive: true });
    throw error instanceof Error ? Object.assign(error, { path }) : error;
  }
}

/**
 * Rewrites a database to a new file. After a failed write the operating system may have dropped unwritten pages that it
 * still serves from its cache. Does not create a missing file.
 */
export function rewriteDatabase(file: string): void {
  using database = new DatabaseSync(new URL('?mode=rw', pathToFileURL(file)));
  database.exec('PRAGMA locking_mode = EXCLUSIVE');
  // The write-ahead log of the old file must not apply to the new one.
  const checkpoint = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
  if (checkpoint?.['busy'] !== 0) throw new Error('its write-ahead log cannot be truncated');
  copyDatabase(database, file);
}

/** Makes a file, or the entries of a directory, durable. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
