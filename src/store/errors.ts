/** The requested revision is compacted; `compacted` is the oldest that can be read. */
export class CompactedError extends Error {
  readonly code = 'STORE_COMPACTED';
  readonly compacted: number;

  constructor(revision: number, compacted: number) {
    super(`revision ${revision} has been compacted; the oldest kept is ${compacted}`);
    this.compacted = compacted;
  }
}

/** The requested revision does not exist yet. */
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

/** A shared store did not answer in time: it may or may not have written the commit. */
export class UnknownOutcomeError extends Error {
  readonly code = 'STORE_UNKNOWN_OUTCOME';
}

/** The data directory cannot be used: in use by another process, unreadable, of a newer format or corrupt. */
export class DataDirectoryError extends Error {
  readonly code = 'STORE_DATA_DIRECTORY';
}

/** The prefix in etcd belongs to another cluster or program, is of a newer format, or incomplete. Nothing was written. */
export class EtcdPrefixError extends Error {
  readonly code = 'STORE_ETCD_PREFIX';
}

/** A backup cannot be used: truncated, damaged, of a newer format, or another file. */
export class BackupError extends Error {
  readonly code = 'STORE_BACKUP';
}

/** The writes cannot be one commit: too many, or a duplicate key. A bug of the caller. */
export class InvalidCommitError extends Error {
  readonly code = 'STORE_INVALID_COMMIT';
}

/** A value exceeds the limit and is not smaller than the current one. Nothing was written. */
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

  constructor(used?: { readonly bytes: number; readonly quota: number }) {
    const what =
      used === undefined
        ? 'etcd has the alarm NOSPACE: delete objects, compact and defragment etcd, and disarm the alarm'
        : `the store holds ${used.bytes} bytes of ${used.quota}: delete objects or raise --quota-backend-bytes`;
    // Starts with the message of etcd, which clients match.
    super(`etcdserver: mvcc: database space exceeded: ${what}`);
  }
}
