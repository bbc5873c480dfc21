// What the server needs of a store: exactly what etcd can give, so that the embedded stores never promise more.

/** A key's current value and where it came from. The same entry object is shared by everyone who reads it. */
export interface Entry {
  readonly key: string;
  readonly value: string;
  /** The revision that wrote this value. */
  readonly revision: number;
  /** The revision that created the key. */
  readonly created: number;
  /** Why the value cannot be used, such as a key that is missing; `value` is then as it is stored. */
  readonly problem?: string;
}

/** One write of a commit. `value` undefined deletes the key. */
export interface Write {
  readonly key: string;
  readonly value: string | undefined;
  /** The revision the key must be at; 0: it must not exist; undefined: any. */
  readonly expect?: number | undefined;
  /** A step of a deletion, such as setting its timestamp: neither the size limit nor the quota refuses it. */
  readonly isDeletion?: boolean;
  /** What the size limit counts, if that is not the length of `value`: an encrypted value is longer than its object. */
  readonly bytes?: number;
}

/** A commit that went through, or the first key that was not as expected, with its entry (undefined: absent). */
export type Commit =
  | { readonly ok: true; readonly revision: number }
  | {
      readonly ok: false;
      readonly key: string;
      readonly current: Pick<Entry, 'revision'> | undefined;
      /** Reads that have reached this revision will see why. */
      readonly revision: number;
    };

/** One key's change. `entry` undefined: deleted at `revision`. */
export interface Change {
  readonly key: string;
  readonly revision: number;
  readonly entry: Entry | undefined;
  readonly previous: Entry | undefined;
  /** The revision of the damaged record that this change replaces; see `StoreStatus.damaged`. */
  readonly repairs?: number | undefined;
}

/** A record whose checksum is wrong. Its key reads as absent; a commit that expects it absent is a conflict. */
export interface DamagedRecord {
  readonly key: string;
  readonly revision: number;
  /** Where it is in the file: the id of its row. */
  readonly row: number;
}

/** What an operator needs to see of a store. */
export interface StoreStatus {
  /** Why the last write failed, until one succeeds; a fatal one means that the store has to be opened again. */
  readonly failure: { readonly message: string; readonly isFatal: boolean } | undefined;
  /** Bytes of keys and values in memory, kept history included. */
  readonly bytes: number;
  readonly quotaBytes: number;
  /** A value of the largest size may not fit any more. */
  readonly isQuotaReached: boolean;
  /** Damaged records that were found when the store was opened and have not been deleted since, by key. */
  readonly damaged: ReadonlyMap<string, DamagedRecord>;
}

export interface Range {
  readonly entries: readonly Entry[];
  /** The revision the range was read at. */
  readonly revision: number;
  /** More keys follow the last entry. */
  readonly more: boolean;
  /** How many keys follow the last entry. */
  readonly remaining: number;
}

export interface RangeOptions {
  /** Read as of this revision; default: now. A compacted one rejects with a `CompactedError`. */
  readonly revision?: number;
  /** Start at this key (inclusive) instead of the first of the prefix. */
  readonly from?: string;
  /** At most this many entries; 0 or absent: all. */
  readonly limit?: number;
}

/**
 * A store: a sorted map of keys with one revision that every commit raises by one.
 *
 * Keys are compared by their UTF-8 bytes (keys are ASCII in practice). Changes of one commit share its revision.
 */
export interface Store extends AsyncDisposable {
  /** The last durable revision. */
  readonly revision: number;
  /** History is kept after this revision: reads and watches from it or later succeed. */
  readonly compacted: number;

  /**
   * Writes all keys or none, at most 128 and each once. Resolves when durable and visible to reads and watches.
   * Rejects when the store cannot write (a full disk, closed), with a `ValueTooLargeError` or a `QuotaExceededError`:
   * then nothing was written. A write that makes a value smaller, and one that deletes, always fits.
   */
  commit(writes: readonly Write[]): Promise<Commit>;

  get(key: string): Promise<Entry | undefined>;
  range(prefix: string, options?: RangeOptions): Promise<Range>;

  /**
   * Delivers every change of keys under `prefix` with revision > `from`, in order, first those of the past. A call of
   * `onChanges` has all changes of one or more whole commits, and comes after they are durable. It must not throw.
   * `onEnd` is called once if the watch cannot go on (compacted, store lost); after the signal fires neither is called.
   * Rejects with a `CompactedError` when `from` < `compacted`.
   */
  watch(prefix: string, from: number, observer: WatchObserver, signal: AbortSignal): Promise<void>;

  /** Forgets history up to and including `revision` (current values stay). */
  compact(revision: number): Promise<void>;

  /** Bytes on disk, or held in memory. */
  size(): Promise<number>;

  status(): StoreStatus;

  /** Waits for pending commits and releases everything. Idempotent. */
  close(): Promise<void>;
}

export interface WatchObserver {
  onChanges(changes: readonly Change[], revision: number): void;
  onEnd(error: Error): void;
}
