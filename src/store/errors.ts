/** The revision asked for is no longer kept; `compacted` is the oldest that can be read. */
export class CompactedError extends Error {
  readonly code = 'STORE_COMPACTED';
  readonly compacted: number;

  constructor(revision: number, compacted: number) {
    super(`revision ${revision} has been compacted; the oldest kept is ${compacted}`);
    this.compacted = compacted;
  }
}

/** The revision asked for has not happened yet. */
export class FutureRevisionError extends Error {
  readonly code = 'STORE_FUTURE_REVISION';

  constructor(revision: number, current: number) {
    super(`revision ${revision} is in the future; the current one is ${current}`);
  }
}

/** The store is closed or broken, and takes no more writes. */
export class StoreUnavailableError extends Error {
  readonly code = 'STORE_UNAVAILABLE';
}

/** The data directory cannot be used: held by another process, unreadable, of a newer format or corrupt. */
export class DataDirectoryError extends Error {
  readonly code = 'STORE_DATA_DIRECTORY';
}

/** The writes cannot be one commit: too many, or one key twice. A bug of the caller. */
export class InvalidCommitError extends Error {
  readonly code = 'STORE_INVALID_COMMIT';
}
