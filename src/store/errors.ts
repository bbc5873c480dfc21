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

/** The store is closed or cannot write now. Nothing was written. */
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

/** A value is over the limit and no smaller than the one it replaces. Nothing was written. */
export class ValueTooLargeError extends Error {
  readonly code = 'STORE_VALUE_TOO_LARGE';
  readonly bytes: number;
  readonly limit: number;

  constructor(key: string, { bytes, limit }: { readonly bytes: number; readonly limit: number }) {
    super(`the value of "${key}" has ${bytes} bytes; the limit is ${limit}`);
    this.bytes = bytes;
    this.limit = limit;
  }
}

/** The store has reached its quota: only writes that do not grow it are accepted. Nothing was written. */
export class QuotaExceededError extends Error {
  readonly code = 'STORE_QUOTA_EXCEEDED';

  constructor({ bytes, quota }: { readonly bytes: number; readonly quota: number }) {
    // etcd's words come first, since clients match them.
    super(
      `etcdserver: mvcc: database space exceeded: the store holds ${bytes} bytes of ${quota}: ` +
        'delete objects or raise --quota-backend-bytes',
    );
  }
}
