import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';

import { checksumOf, horizonChecksum } from './protocol.ts';
import { copyDatabase } from './copy.ts';

/** The copy that a migration from `format` keeps. */
export const backupFile = (file: string, format: number): string => `${file}.format-${format}`;

/**
 * Adds checksums to a store of format 1, after copying it. The migration is one transaction and the copy is renamed when
 * it is complete, so a process killed at any point leaves a store that can be migrated again.
 */
export function migrateFromFormat1(database: DatabaseSync, file: string): void {
  copyDatabase(database, backupFile(file, 1));
  database.function('row_checksum', { varargs: true }, migratedChecksum);
  database.function('horizon_checksum', (compacted, swept) => horizonChecksum(Number(compacted), Number(swept)));
  database.exec('BEGIN EXCLUSIVE');
  try {
    database.exec(`
      ALTER TABLE log ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE horizon ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
      UPDATE log SET checksum = row_checksum(id, key, value, created, previous);
      UPDATE horizon SET checksum = horizon_checksum(compacted, swept);
      PRAGMA user_version = 2;
      COMMIT;
    `);
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** A value that is not JSON is damaged; it gets an invalid checksum. */
function migratedChecksum(...[id, key, value, created, previous]: readonly SQLOutputValue[]): number {
  const text = value === null ? null : String(value);
  const checksum = checksumOf({
    id: Number(id),
    key: String(key),
    value: text,
    created: Number(created),
    previous: Number(previous),
  });
  return text === null || isJson(text) ? checksum : -1;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
