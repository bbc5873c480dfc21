import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

/** Copies a database into `path`, which has the whole copy on disk or is as before. */
export function copyDatabase(database: DatabaseSync, path: string): void {
  const partial = `${path}.tmp`;
  try {
    rmSync(partial, { force: true });
    // VACUUM INTO would give its file the default mode; it accepts an empty one.
    closeSync(openSync(partial, 'wx', 0o600));
    database.prepare('VACUUM INTO ?').run(partial);
    sync(partial);
    renameSync(partial, path);
    sync(dirname(path));
  } catch (error) {
    rmSync(partial, { force: true, recursive: true });
    throw error instanceof Error ? Object.assign(error, { path }) : error;
  }
}

/**
 * Writes all of a database to the disk again, in a new file. After a failed write the system may have dropped pages that
 * it had not written, and still read them as written until its cache is gone. A file that is missing is not begun anew.
 */
export function rewriteDatabase(file: string): void {
  using database = new DatabaseSync(new URL('?mode=rw', pathToFileURL(file)));
  database.exec('PRAGMA locking_mode = EXCLUSIVE');
  // The log of the old file must not be there when the new one is opened.
  const checkpoint = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
  if (checkpoint?.['busy'] !== 0) throw new Error('its write-ahead log cannot be emptied');
  copyDatabase(database, file);
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
