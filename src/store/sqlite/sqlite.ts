import { mkdir, open } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { EmbeddedStore } from '../embedded.ts';
import { DataDirectoryError } from '../errors.ts';
import type { Store } from '../store.ts';
import { SqliteJournal } from './journal.ts';
import { Replay } from './replay.ts';

export interface SqliteStoreOptions {
  /** The data directory, or a file that ends in `.db`. What does not exist is made, for its owner alone. */
  readonly path: string;
  /** The file may not grow beyond this; then it is as if the disk were full. Default: no bound. */
  readonly maxBytes?: number;
}

/**
 * Opens the store in a data directory and holds it against other processes until it is closed. Everything that was
 * acknowledged is there, and watches resume as before. Rejects with a `DataDirectoryError` that says what to do.
 */
export async function openSqliteStore({ path, maxBytes }: SqliteStoreOptions): Promise<Store> {
  const file = resolve(path.endsWith('.db') ? path : join(path, 'store.db'));
  await prepare(file);
  const replay = new Replay();
  const { journal, compacted } = await SqliteJournal.open({ file, maxBytes }, (rows) => replay.add(rows));
  return new EmbeddedStore(journal, replay.finish(compacted));
}

/** Makes the directory and the file, so that SQLite finds them with the right modes. */
async function prepare(file: string): Promise<void> {
  const directory = dirname(file);
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw directoryError(directory, error);
  }
  try {
    // 'x': a file that exists is not opened here, because closing it again would drop SQLite's locks of this process.
    const handle = await open(file, 'wx', 0o600);
    await handle.close();
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw directoryError(directory, error);
  }
}

function directoryError(directory: string, cause: unknown): DataDirectoryError {
  const code = codeOf(cause);
  switch (code) {
    case 'EEXIST':
    case 'ENOTDIR':
      return new DataDirectoryError(`${directory} is or lies in a file: choose another data directory`, { cause });
    case 'ENOSPC':
      return new DataDirectoryError(`the disk that holds ${directory} is full: free some space`, { cause });
    default:
      return new DataDirectoryError(`${directory} cannot be written to (${String(code)}): check who may write there`, {
        cause,
      });
  }
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);
