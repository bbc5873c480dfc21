import { constants } from 'node:fs';
import { access, mkdir, open, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { codeOf } from '../../api/error-message.ts';
import { EmbeddedStore } from '../embedded.ts';
import { DataDirectoryError } from '../errors.ts';
import type { StoreLimits } from '../limits.ts';
import type { DamagedRecord, Store } from '../store.ts';
import { toFailure, openError } from './failures.ts';
import { SqliteJournal } from './journal.ts';
import type { Notice } from './protocol.ts';
import { Replay } from './replay.ts';

export interface SqliteStoreOptions extends StoreLimits {
  /** The data directory, or a file that ends in `.db`. Missing ones are created for the owner only. */
  readonly path: string;
  /** The maximum size of the file, beyond which writes fail as on a full disk; default: none. */
  readonly maxBytes?: number;
  /** Open a store that has lost acknowledged writes, and delete its damaged records. */
  readonly acceptDataLoss?: boolean | undefined;
  /** Receives messages for the operator: a migration, damaged records, an accepted loss. */
  readonly onNotice?: (notice: Notice) => void;
}

/** The maximum number of damaged records that are reported individually. */
const maxNamed = 100;

/**
 * Opens the store in a data directory and locks it against other processes until it is closed. It has all acknowledged
 * writes, and watches resume. Rejects with an actionable `DataDirectoryError`.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { path, maxBytes, acceptDataLoss = false, onNotice = () => undefined } = options;
  const file = storeFile(path);
  await prepareFile(file);
  const replay = new Replay();
  const { journal, opened } = await SqliteJournal.open({ file, maxBytes, acceptDataLoss }, (rows) => replay.add(rows));
  for (const notice of opened.notices) onNotice(notice);
  const { history, damaged } = replay.finish(opened);
  for (const notice of damageNotices(file, opened.damaged.length, damaged)) onNotice(notice);
  const store = new EmbeddedStore(journal, { ...options, history, damaged });
  if (!acceptDataLoss) return store;
  try {
    for (const key of damaged.keys()) await store.commit([{ key, value: undefined }]);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The file of the store at a path: a data directory, or the file itself. */
export const storeFile = (path: string): string => resolve(path.endsWith('.db') ? path : join(path, 'store.db'));

function* damageNotices(
  file: string,
  rows: number,
  records: ReadonlyMap<string, DamagedRecord>,
): Generator<Notice, void> {
  if (rows === 0) return;
  yield { message: 'the store has rows with a wrong checksum', keys: { file, rows, unreadable: records.size } };
  for (const { key, revision, row } of [...records.values()].slice(0, maxNamed)) {
    const message = 'damaged record: delete and create its object again, or restore the store';
    yield { message, keys: { key, revision, row } };
  }
}

/** Creates the directory and the file with private modes, and checks that both are usable. */
export async function prepareFile(file: string): Promise<void> {
  const directory = dirname(file);
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw directoryError(directory, error);
  }
  try {
    // 'x' does not open an existing file: closing it would drop SQLite's locks in this process.
    const handle = await open(file, 'wx', 0o600);
    await handle.close();
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw directoryError(directory, error);
  }
  // SQLite reports most of these problems only as "unable to open database file".
  await access(directory, constants.W_OK).catch((error: unknown) => {
    throw openError(directory, toFailure(error));
  });
  await access(file, constants.R_OK | constants.W_OK).catch((error: unknown) => {
    throw openError(file, toFailure(error));
  });
  await rm(`${file}.tmp`, { force: true }).catch(() => undefined); // left by an interrupted copy
  if (!(await stat(file)).isFile()) throw new DataDirectoryError(`${file} is not a file: move it away`);
}

function directoryError(directory: string, cause: unknown): DataDirectoryError {
  const code = codeOf(cause);
  if (code === 'EEXIST' || code === 'ENOTDIR') {
    return new DataDirectoryError(`${directory} is or lies in a file: choose another data directory`, { cause });
  }
  return openError(directory, toFailure(cause));
}
