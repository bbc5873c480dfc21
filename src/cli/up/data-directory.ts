import { closeSync, openSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileErrorOf } from '../../api/error-message.ts';
import { setInterval } from '../../machine/timers.ts';
import { codesOf, FatalError } from '../errors.ts';
import { makePrivateDirectory, readIfPresent, writePrivateFile } from '../../server/pki/files.ts';

/** A data directory with an exclusive lock, which is released when it is closed or the process ends. */
export interface DataDirectory extends AsyncDisposable {
  readonly path: string;
  /** Fires when the directory was removed or replaced, so that another process may have locked it. */
  readonly lost: AbortSignal;
  /** The path of a file or folder in the directory. */
  at(...names: string[]): string;
  /** Replaces a file of the directory in one step. */
  write(name: string, content: string): Promise<void>;
  remove(name: string): Promise<void>;
}

const defaultCheckMs = 2000;
const sqliteBusy = 5;
const sqliteFull = 13;

/** Makes the directory if need be and takes its lock, which is checked every `checkMs`. Fails if another holds it. */
export async function holdDataDirectory(
  path: string,
  { checkMs = defaultCheckMs }: { readonly checkMs?: number } = {},
): Promise<DataDirectory> {
  const lockPath = join(path, 'lock');
  const lock = await takeLock(path, lockPath);
  const { ino } = await stat(lockPath);
  const lost = new AbortController();
  // The system does not notify a process that an open file was unlinked, so it is polled.
  const timer = setInterval(() => {
    stat(lockPath).then(
      (found) => found.ino !== ino && lost.abort(),
      () => lost.abort(),
    );
  }, checkMs);
  return {
    path,
    lost: lost.signal,
    at: (...names) => join(path, ...names),
    write: (name, content) => writePrivateFile(join(path, name), content),
    remove: (name) => rm(join(path, name), { force: true }),
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      lock.close();
    },
  };
}

/**
 * An exclusive SQLite transaction is the lock: the system releases it however the process ends, so there is no stale
 * lock to clean up, and no process id that may belong to another process.
 */
async function takeLock(path: string, lockPath: string): Promise<DatabaseSync> {
  try {
    await makePrivateDirectory(path);
    createPrivately(lockPath);
    const lock = new DatabaseSync(lockPath);
    lock.exec('PRAGMA journal_mode=OFF; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined;
    if (code === sqliteBusy) {
      throw new FatalError(`data directory ${path} is in use${await holder(path)}: stop it or pass --data-dir`);
    }
    if (code === sqliteFull || codesOf(error).includes('ENOSPC')) {
      throw new FatalError(`the disk that holds ${path} is full: free some space`, { cause: error });
    }
    const why = codesOf(error).includes('EEXIST') ? 'it is not a directory' : fileErrorOf(error);
    throw new FatalError(`cannot use data directory ${path}: ${why}`, { cause: error });
  }
}

function createPrivately(lockPath: string): void {
  try {
    // 'wx' never opens a file that exists: closing it would drop the locks this process has on it.
    closeSync(openSync(lockPath, 'wx', 0o600));
  } catch (error) {
    if (!codesOf(error).includes('EEXIST')) throw error;
  }
}

async function holder(path: string): Promise<string> {
  const state = await readIfPresent(join(path, 'state.json')).catch(() => undefined);
  const pid = /"pid":\s*(\d+)/.exec(state ?? '')?.[1];
  return pid === undefined ? ' by another process' : ` by process ${pid}`;
}
