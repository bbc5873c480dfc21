// Writes a store from the records of a backup, beside the file that it replaces when it is complete.

import { constants } from 'node:fs';
import { access, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

import { codeOf } from '../../api/error-message.ts';
import { DataDirectoryError } from '../errors.ts';
import type { Entry } from '../store.ts';
import { syncPath } from './copy.ts';
import { openError, sqliteResult, toFailure } from './failures.ts';
import { readHighestRevision, writeHighestRevision } from './highest-revision.ts';
import type { Rows } from './protocol.ts';
import { rowId, rowsPerRevision, rowWidth } from './protocol.ts';
import { RevisionLog } from './revision-log.ts';
import { prepareFile, storeFile } from './sqlite.ts';

/** Rows per transaction. */
const batchRows = 1024;

export interface SqliteRestoreOptions {
  /** As for `openSqliteStore`. The caller holds the lock of the data directory. */
  readonly path: string;
  readonly records: AsyncIterable<Entry>;
  /** All revisions of the new store are greater than this, and than those of the store that it replaces. */
  readonly after: number;
  /** Replace a store that exists; it is kept in `replaced`. */
  readonly overwrites: boolean;
}

export interface Restored {
  readonly records: number;
  /** The revision of the new store. */
  readonly revision: number;
  /** Where the previous store is kept, if there was one. */
  readonly replaced?: string;
}

/** The file of the store at a path, if it exists. */
export async function existingStore(path: string): Promise<string | undefined> {
  const file = storeFile(path);
  const isThere = await access(file, constants.F_OK).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error) === 'ENOENT') return false;
      throw openError(file, toFailure(error));
    },
  );
  return isThere ? file : undefined;
}

/**
 * Creates a store from records. Until all of them are durable, the existing store is unchanged: a restore that fails or is
 * killed can be repeated. Every key gets a new revision.
 */
export async function restoreSqliteStore(options: SqliteRestoreOptions): Promise<Restored> {
  const { path, records, overwrites } = options;
  const existing = await existingStore(path);
  if (existing !== undefined && !overwrites) {
    throw new DataDirectoryError(
      `${existing} exists: pass --overwrite to replace it, or choose another data directory`,
    );
  }
  const file = storeFile(path);
  const partial = sibling(file, 'restore');
  const highest = existing === undefined ? 0 : highestOf(existing);
  const after = Math.max(options.after, highest, readHighestRevision(file) ?? 0);
  try {
    await remove(partial);
    await prepareFile(partial);
    const restored = await write(partial, records, after);
    syncPath(partial);
    const replaced = existing === undefined ? undefined : await moveAside(file);
    await rename(partial, file);
    writeHighestRevision(file, restored.revision);
    syncPath(dirname(file));
    return { ...restored, ...(replaced === undefined ? {} : { replaced }) };
  } catch (error) {
    await remove(partial).catch(() => undefined); // the first error is the one to report
    const isOfFile = error instanceof Error && ('errcode' in error || 'errno' in error);
    throw isOfFile ? openError(file, toFailure(error)) : error;
  }
}

/** The last revision of a store; 0 if it cannot be read. Throws if another process has it. */
function highestOf(file: string): number {
  try {
    const log = new RevisionLog({ file, maxBytes: undefined, acceptDataLoss: false });
    const { revision } = log;
    log.close();
    return revision;
  } catch (error) {
    const failure = toFailure(error);
    if (failure.result === sqliteResult.busy) throw openError(file, failure);
    return 0; // a damaged store is a reason to restore
  }
}

async function write(file: string, records: AsyncIterable<Entry>, after: number): Promise<Restored> {
  const log = new RevisionLog({ file, maxBytes: undefined, acceptDataLoss: false });
  try {
    let count = 0;
    let rows: Rows = [];
    const revisionOf = (index: number): number => after + 1 + Math.floor(index / rowsPerRevision);
    for await (const { key, value } of records) {
      const revision = revisionOf(count);
      rows.push(rowId(revision, count % rowsPerRevision), key, value, revision, 0);
      count++;
      if (rows.length < batchRows * rowWidth) continue;
      log.append(rows);
      rows = [];
    }
    if (rows.length > 0) log.append(rows);
    const revision = revisionOf(count);
    log.compact(revision);
    return { records: count, revision };
  } finally {
    log.close();
  }
}

/** The name of a store beside another: `store.replaced.db`. */
const sibling = (file: string, name: string): string => file.replace(/\.db$/, `.${name}.db`);

/** Keeps a store under another name, with its write-ahead log, which must not apply to the new one. */
async function moveAside(file: string): Promise<string> {
  const kept = sibling(file, 'replaced');
  await remove(kept);
  await rename(file, kept);
  await rename(`${file}-wal`, `${kept}-wal`).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
  });
  return kept;
}

async function remove(file: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm']) await rm(`${file}${suffix}`, { force: true });
}
