import { StoreUnavailableError } from './errors.ts';
import { applied, bytesOf, History } from './history.ts';
import type { StoreLimits } from './limits.ts';
import { defaultMaxValueBytes, effectiveQuota, historyShare } from './limits.ts';
import type {
  Change,
  Commit,
  DamagedRecord,
  Entry,
  Range,
  RangeOptions,
  Store,
  StoreStatus,
  WatchObserver,
  Write,
} from './store.ts';
import type { Tree } from './tree.ts';
import { Watchers } from './watchers.ts';
import { changesOf, checkQuota, checkSizes, checkWrites, conflictOf, rangeOf } from './writes.ts';

/** The durable log of an embedded store. The store calls `append` only after the previous call settled. */
export interface Journal {
  /**
   * Resolves when the changes, of one or more whole commits, are durable. Rejects with a `StoreUnavailableError` if they
   * are not; then none of them is ever visible.
   */
  append(changes: readonly Change[]): Promise<void>;
  /** Drops data that only reads before `revision` need. */
  compact(revision: number): Promise<void>;
  /** The bytes on disk; undefined if nothing is stored. */
  size(): Promise<number | undefined>;
  /** The failure of the last `append`, until one can succeed again. */
  readonly failure?: StoreStatus['failure'];
  close(): Promise<void>;
}

/** The maximum number of commits that wait for the disk; more are rejected for the client to retry. */
const maxWaiting = 16_384;

/** The initial state of an embedded store. */
export interface EmbeddedOptions extends StoreLimits {
  readonly history?: History;
  /** Damaged records, by key; none of them has an entry in the history. */
  readonly damaged?: Iterable<readonly [string, DamagedRecord]>;
}

/** A decided commit that is not durable yet. Conflicts and no-op commits wait here too, without changes. */
interface Pending {
  readonly changes: readonly Change[];
  readonly tree: Tree<Entry>;
  readonly result: Commit;
  readonly resolve: (result: Commit) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The in-memory store of both embedded stores. The journal makes its commits durable.
 *
 * ```
 * commit → ordered: checked against #next, which has all previous commits
 *        → waiting in #queue while the journal writes the previous batch
 *        → durable: appended to #history and so visible to reads; published to watchers; resolved
 *        → or rejected by the journal: #next falls back to the durable state, all waiting commits reject
 * ```
 */
export class EmbeddedStore implements Store {
  readonly #journal: Journal;
  readonly #history: History;
  readonly #watchers = new Watchers();
  readonly #damaged: Map<string, DamagedRecord>;
  readonly #maxValueBytes: number;
  readonly #quotaBytes: number;
  /** The bytes of decided commits that are not durable yet. */
  #pendingBytes = 0;
  #trimming: Promise<void> | undefined;
  #next: { readonly tree: Tree<Entry>; readonly revision: number };
  #queue: Pending[] = [];
  /** Settles when no commit is waiting; undefined if none is. */
  #draining: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(journal: Journal, options: EmbeddedOptions = {}) {
    const { history = new History(), damaged = [], maxValueBytes = defaultMaxValueBytes } = options;
    this.#journal = journal;
    this.#history = history;
    this.#damaged = new Map(damaged);
    this.#maxValueBytes = maxValueBytes;
    this.#quotaBytes = options.quotaBytes ?? effectiveQuota();
    this.#next = { tree: history.current, revision: history.revision };
  }

  get revision(): number {
    return this.#history.revision;
  }

  get compacted(): number {
    return this.#history.compacted;
  }

  readonly isShared = false;
  readonly isAdopted = false;

  sync(): undefined {
    return undefined;
  }

  revisionBefore(commits: number): number {
    return this.#history.revisionBefore(commits);
  }

  async commit(writes: readonly Write[]): Promise<Commit> {
    this.#checkOpen();
    checkWrites(writes);
    if (this.#queue.length >= maxWaiting) {
      throw new StoreUnavailableError('too many writes are waiting for the disk: retry later');
    }
    const { tree, revision } = this.#next;
    const state = { tree, revision, damaged: this.#damaged };
    const conflict = conflictOf(writes, state);
    if (conflict !== undefined) return this.#afterPending(conflict);
    checkSizes(writes, tree, this.#maxValueBytes);
    const changes = changesOf(writes, state);
    if (changes.length === 0) return this.#afterPending({ ok: true, revision });
    this.#pendingBytes += checkQuota(writes, changes, {
      bytes: this.#history.bytes + this.#pendingBytes,
      quota: this.#quotaBytes,
    });
    this.#next = { tree: applied(tree, changes), revision: revision + 1 };
    return this.#enqueue(changes, { ok: true, revision: revision + 1 });
  }

  /** A result without changes depends on commits that may not be durable yet, and must not resolve before them. */
  #afterPending(result: Commit): Commit | Promise<Commit> {
    return this.#draining === undefined ? result : this.#enqueue([], result);
  }

  #enqueue(changes: readonly Change[], result: Commit): Promise<Commit> {
    const { promise, resolve, reject } = Promise.withResolvers<Commit>();
    this.#queue.push({ changes, tree: this.#next.tree, result, resolve, reject });
    this.#draining ??= this.#drain();
    return promise;
  }

  /** Writes waiting commits in batches: commits that arrive during a batch form the next one. */
  async #drain(): Promise<void> {
    await Promise.resolve(); // commits of the same turn share the first batch
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      const changes = batch.flatMap((pending) => pending.changes);
      try {
        if (changes.length > 0) await this.#journal.append(changes);
      } catch (error) {
        this.#rollBack(batch, error);
        continue;
      }
      this.#makeVisible(batch);
    }
    this.#draining = undefined;
  }

  #makeVisible(batch: readonly Pending[]): void {
    const commits: (readonly Change[])[] = [];
    for (const { changes, tree, result } of batch) {
      if (changes.length === 0) continue;
      this.#history.append(result.revision, changes, tree);
      for (const { key, entry, repairs } of changes) {
        this.#pendingBytes -= bytesOf(entry);
        if (repairs !== undefined) this.#damaged.delete(key);
      }
      commits.push(changes);
    }
    this.#trim();
    this.#watchers.publish(commits, this.#history.revision);
    for (const { resolve, result } of batch) resolve(result);
  }

  /** Rejects later commits too, since they were checked against the lost state. */
  #rollBack(batch: readonly Pending[], error: unknown): void {
    const lost = [...batch, ...this.#queue];
    this.#queue = [];
    this.#pendingBytes = 0;
    this.#next = { tree: this.#history.current, revision: this.#history.revision };
    for (const { reject } of lost) reject(error);
  }

  /** Compacts when the history exceeds its share. After a failure, the next commit or the compactor retries. */
  #trim(): void {
    const allowed = this.#quotaBytes * historyShare;
    if (this.#trimming !== undefined || this.#history.pastBytes <= allowed) return;
    this.#trimming = this.compact(this.#history.revisionKeeping(allowed / 2))
      .catch(() => undefined)
      .finally(() => (this.#trimming = undefined));
  }

  async get(key: string): Promise<Entry | undefined> {
    this.#checkOpen();
    return this.#history.current.get(key);
  }

  async range(prefix: string, options: RangeOptions = {}): Promise<Range> {
    this.#checkOpen();
    const revision = options.revision ?? this.revision;
    const tree = this.#history.at(revision);
    return rangeOf(tree, prefix, { ...options, revision });
  }

  async watch(prefix: string, from: number, observer: WatchObserver, signal: AbortSignal): Promise<void> {
    this.#checkOpen();
    const past = from > this.revision ? [] : this.#history.after(from);
    this.#watchers.add({ prefix, from, observer, signal }, past, this.revision);
  }

  async compact(revision: number): Promise<void> {
    this.#checkOpen();
    if (revision <= this.compacted) return;
    await this.#journal.compact(revision); // first, so that a failure can be retried
    this.#history.compact(revision);
  }

  async size(): Promise<number> {
    return (await this.#journal.size()) ?? this.#history.bytes;
  }

  status(): StoreStatus {
    const { bytes } = this.#history;
    return {
      failure: this.#journal.failure,
      bytes,
      quotaBytes: this.#quotaBytes,
      quotaReached: bytes + this.#maxValueBytes > this.#quotaBytes ? 'store' : undefined,
      damaged: this.#damaged,
    };
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.#draining;
    await this.#journal.close();
    this.#watchers.end(closedError());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.#closed !== undefined) throw closedError();
  }
}

const closedError = (): StoreUnavailableError => new StoreUnavailableError('the store is closed');
