import { codeOf, messageOf } from '../../api/error-message.ts';
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

/** File system errors outside SQLite, as the SQLite result code with the same meaning. */
const resultOfErrno: Readonly<Record<string, number>> = {
  EACCES: sqliteResult.permission,
  EPERM: sqliteResult.permission,
  EROFS: sqliteResult.readOnly,
  ENOSPC: sqliteResult.full,
  EDQUOT: sqliteResult.full,
  EIO: sqliteResult.ioError,
};

/** Converts an error for transfer between threads. */
export function toFailure(error: unknown): Failure {
  const message = messageOf(error);
  if (!(error instanceof Error)) return { result: undefined, message };
  const path = 'path' in error && typeof error.path === 'string' ? { path: error.path } : {};
  // The primary code is the low byte of an extended one.
  if ('errcode' in error && typeof error.errcode === 'number')
    return { result: error.errcode & 0xff, message, ...path };
  return { result: resultOfErrno[codeOf(error)], message, ...path };
}

/** A full disk is the only failure that leaves the file unchanged. */
export const isFatal = ({ result }: Failure): boolean => result !== sqliteResult.full;

/** The error about a store that cannot be opened, with the fix. */
export function openError(store: string, { result, message, path: file = store }: Failure): DataDirectoryError {
  switch (result) {
    case sqliteResult.busy:
      return new DataDirectoryError(`${file} is in use by another process: stop it or choose another data directory`);
    case sqliteResult.corrupt:
    case sqliteResult.notADatabase:
      return new DataDirectoryError(
        `${file} is corrupt (${message}): restore it from a backup, or move it away and start once with --accept-data-loss`,
      );
    case sqliteResult.full:
      return new DataDirectoryError(`the disk that holds ${file} is full: free some space`);
    case sqliteResult.readOnly:
      return new DataDirectoryError(
        `${file} is read-only or on a read-only file system (${message}): ` +
          'mount it for writing or choose another data directory',
      );
    case sqliteResult.permission:
    case sqliteResult.cannotOpen:
      return new DataDirectoryError(`${file} cannot be opened for writing (${message}): check the permissions`);
    case sqliteResult.ioError:
      return new DataDirectoryError(`${file} cannot be read or written (${message}): check the disk`);
    case undefined:
    default:
      return new DataDirectoryError(`${file} cannot be used: ${message}`);
  }
}

/** The error about failed writes, with the fix. */
export function writeError(store: string, failure: Failure): StoreUnavailableError {
  const { message, path: file = store } = failure;
  if (!isFatal(failure)) {
    return new StoreUnavailableError(`nothing was written, the disk that holds ${file} is full: free some space`);
  }
  return new StoreUnavailableError(
    `nothing was written, writing to ${file} failed (${message}): check the disk; the store is opened again when it works`,
  );
}
