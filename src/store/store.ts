// The contract of a store. It promises exactly what etcd provides, so that embedded stores never promise more.

/** A key with its value and revisions. All readers share the same entry object. */
export interface Entry {
  readonly key: string;
  readonly value: string;
  /** The revision that wrote this value. */
  readonly revision: number;
  /** The revision that created the key. */
  readonly created: number;
  /** Why the value cannot be used, such as a missing encryption key; `value` is then the stored one. */
  readonly problem?: string;
}

/** One write of a commit. `value` undefined deletes the key. */
export interface Write {
  readonly key: string;
  readonly value: string | undefined;
  /** The required revision of the key; 0: absent; undefined: any. */
  readonly expect?: number | undefined;
  /** Part of a deletion, such as setting its timestamp: exempt from the size limit and the quota. */
  readonly isDeletion?: boolean;
  /** The size for the size limit, if it differs from that of `value`, as for encrypted values. */
  readonly bytes?: number;
  /** Only checks the expectation and writes nothing. */
  readonly isCheck?: true;
  /** A shared store may delete the key after this time without a write. */
  readonly ttlSeconds?: number;
}

/** A successful commit, or the first key in conflict with its current entry (undefined: absent). */
export type Commit =
  | { readonly ok: true; readonly revision: number }
  | {
      readonly ok: false;
      readonly key: string;
      readonly current: Pick<Entry, 'revision'> | undefined;
      /** Reads at this revision show the conflict. */
      readonly revision: number;
    };

/** The change of one key. `entry` is undefined if it was deleted at `revision`. */
export interface Change {
  readonly key: string;
  readonly revision: number;
  readonly entry: Entry | undefined;
  readonly previous: Entry | undefined;
  /** The revision of the damaged record that this change replaces; see `StoreStatus.damaged`. */
  readonly repairs?: number | undefined;
}

/** A record with a wrong checksum. Its key reads as absent; a commit that expects it absent is a conflict. */
export interface DamagedRecord {
  readonly key: string;
  readonly revision: number;
  /** The ID of its row in the file. */
  readonly row: number;
}

export interface StoreStatus {
  /** The error of the last write, until one succeeds. After a fatal error the store must be reopened. */
  readonly failure: { readonly message: string; readonly isFatal: boolean } | undefined;
  /** The bytes of keys and values in memory, history included. */
  readonly bytes: number;
  readonly quotaBytes: number;
  /** The quota in which a value of the maximum size may no longer fit: that of the store, or that of etcd. */
  readonly quotaReached: 'store' | 'etcd' | undefined;
  /** Damaged records found at the opening and not deleted since, by key. */
  readonly damaged: ReadonlyMap<string, DamagedRecord>;
}

export interface Range {
  readonly entries: readonly Entry[];
  /** The revision of the read. */
  readonly revision: number;
  /** Whether more keys follow. */
  readonly more: boolean;
  /** The number of keys that follow. */
  readonly remaining: number;
}

export interface RangeOptions {
  /** The revision to read; default: the current one. Rejects with a `CompactedError` if it is compacted. */
  readonly revision?: number;
  /** The first key (inclusive); default: the first of the prefix. */
  readonly from?: string;
  /** The maximum number of entries; 0 or absent: no limit. */
  readonly limit?: number;
}

/**
 * A sorted map of keys with one revision that every commit raises.
 *
 * Keys are compared by their UTF-8 bytes (keys are ASCII in practice). Changes of one commit share its revision, and no
 * other commit has it.
 */
export interface Store extends AsyncDisposable {
  /** The last durable revision. */
  readonly revision: number;
  /** The compacted revision: reads and watches from it or later succeed. */
  readonly compacted: number;
  /** Whether other processes write to it too. */
  readonly isShared: boolean;
  /** Whether a kube-apiserver writes to it too, which keeps no claims of node ports. */
  readonly isAdopted: boolean;
  /** The revision that is this many commits older than the last, or the compacted one. */
  revisionBefore(commits: number): number;

  /**
   * Resolves when reads and watches include every commit that was acknowledged before the call, by any process. Returns
   * undefined if they always do. Rejects with a `StoreUnavailableError`.
   */
  sync(): Promise<void> | undefined;

  /**
   * Writes up to `maxWrites` keys atomically, each once. Resolves when the commit is durable and visible to reads and watches.
   * Rejects if the store cannot write (a full disk, closed), or with a `ValueTooLargeError` or `QuotaExceededError`. Then
   * nothing was written. Deletions and writes that shrink a value always fit. Rejects with an `UnknownOutcomeError` if a
   * shared store did not answer in time.
   */
  commit(writes: readonly Write[]): Promise<Commit>;

  get(key: string): Promise<Entry | undefined>;
  range(prefix: string, options?: RangeOptions): Promise<Range>;

  /**
   * Delivers every change under `prefix` with a revision > `from` in order, past ones first. One call of `onChanges`
   * contains all changes of one or more whole, durable commits. It must not throw. `onEnd` is called once if the watch
   * cannot continue (compacted, store lost); after the signal fires neither is called. Rejects with a `CompactedError` if
   * `from` < `compacted`.
   */
  watch(prefix: string, from: number, observer: WatchObserver, signal: AbortSignal): Promise<void>;

  /** Drops history up to and including `revision`; current values remain. */
  compact(revision: number): Promise<void>;

  /** The bytes on disk, or in memory. */
  size(): Promise<number>;

  status(): StoreStatus;

  /** Waits for pending commits and releases all resources. Idempotent. */
  close(): Promise<void>;
}

export interface WatchObserver {
  onChanges(changes: readonly Change[], revision: number): void;
  onEnd(error: Error): void;
}
