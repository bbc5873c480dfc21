import { messageOf } from '../../api/thrown.ts';
import { DataDirectoryError, StoreUnavailableError } from '../errors.ts';
import type { Failure } from './protocol.ts';

/** SQLite's primary result codes, https://sqlite.org/rescode.html. */
export const sqliteResult = {
  permission: 3,
  busy: 5,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notADatabase: 26,
} as const;

/** An error as data that can be sent between threads. */
export function failureOf(error: unknown): Failure {
  const message = messageOf(error);
  const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined;
  // The primary code is the low byte of an extended one.
  return { result: typeof code === 'number' ? code & 0xff : undefined, message };
}

/** Why the store in `file` cannot be opened, and what to do. */
export function openError(file: string, { result, message }: Failure): DataDirectoryError {
  switch (result) {
    case sqliteResult.busy:
      return new DataDirectoryError(`${file} is in use by another process: stop it or choose another data directory`);
    case sqliteResult.corrupt:
    case sqliteResult.notADatabase:
      return new DataDirectoryError(`${file} is corrupt (${message}): restore it from a backup or move it away`);
    case sqliteResult.full:
      return new DataDirectoryError(`the disk that holds ${file} is full: free some space`);
    case sqliteResult.permission:
    case sqliteResult.readOnly:
    case sqliteResult.cannotOpen:
      return new DataDirectoryError(`${file} cannot be opened for writing (${message}): check who may write there`);
    case sqliteResult.ioError:
      return new DataDirectoryError(`${file} cannot be read (${message}): check the disk`);
    case undefined:
    default:
      return new DataDirectoryError(`${file} cannot be used: ${message}`);
  }
}

/** Why the last writes to `file` did not happen, and what to do. */
export function writeError(file: string, { result, message }: Failure): StoreUnavailableError {
  if (result === sqliteResult.full) {
    return new StoreUnavailableError(`nothing was written, the disk that holds ${file} is full: free some space`);
  }
  return new StoreUnavailableError(`writing to ${file} failed (${message}): check the disk, then restart`);
}
