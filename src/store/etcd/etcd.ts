import { setTimeout as sleep } from 'node:timers/promises';

import { setTimeout } from '../../machine/timers.ts';
import { QuotaExceededError, StoreUnavailableError } from '../errors.ts';
import type { StoreLimits } from '../limits.ts';
import { defaultMaxValueBytes, effectiveQuota, historyShare } from '../limits.ts';
import type { Commit, Entry, Range, RangeOptions, Store, StoreStatus, WatchObserver, Write } from '../store.ts';
import { changesOf, checkQuota, checkSizes, checkWrites, rangeOf } from '../writes.ts';
import type { EtcdAddress } from './client.ts';
import { EtcdClient, unavailable } from './client.ts';
import { Compaction, compactedRevision, compactionProblem } from './compaction.ts';
import type { ConnectOptions } from './connect.ts';
import { connect, retryMs } from './connect.ts';
import type { Epoch } from './epoch.ts';
import { hasEpoch, raiseRevisions, readEpoch, requireComplete } from './epoch.ts';
import { failureOf, reasonOf } from './failures.ts';
import { Feed } from './feed.ts';
import { Keys } from './keys.ts';
import { Session, SharedLeases } from './leases.ts';
import type { KeyValue } from './messages.ts';
import { range, status } from './messages.ts';
import { Mirror } from './mirror.ts';
import type { ClusterOwner } from './owner.ts';
import { claimPrefix } from './owner.ts';
import { readAll } from './read.ts';
import { Revisions } from './revisions.ts';
import { certainConflict, stateOf, Writer } from './writer.ts';

export interface EtcdStoreOptions extends EtcdAddress, ConnectOptions, StoreLimits {
  /** kube-apiserver's `--etcd-prefix`; default `/registry`. */
  readonly prefix?: string | undefined;
  /** The cluster that the prefix must belong to; undefined: any. */
  readonly owner?: ClusterOwner | undefined;
  /** The age of history that etcd keeps; default five minutes, 0: never compact. */
  readonly keepMs?: number | undefined;
}

/** The maximum number of commits that wait for etcd; more are rejected for the client to retry. */
const maxWaiting = 16_384;
/** The number of revisions of etcd from before the start that clients can resume from. */
const initialHistory = 10_000;
/** How long a consistent read waits for events, and the start while none arrives. */
const syncMs = 5000;
/** How long the store waits for an event before it requests the progress of the watch. */
const eventMs = 5;

/** Opens a store over etcd. Rejects with a `StoreUnavailableError`, or if another cluster owns the prefix. */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<Store> {
  const client = new EtcdClient(options);
  const store = new EtcdStore(client, options);
  try {
    await connect(client, new Keys(options.prefix), options);
    await store.open();
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * A store over etcd, which any number of processes may open at once.
 *
 * ```
 * commit → checked against the mirror → batched by the writer → etcd → the feed updates the mirror → resolved
 * get, range, watch → the mirror
 * sync → the revision of etcd → the mirror has reached it
 * ```
 */
class EtcdStore implements Store {
  readonly isShared = true;
  readonly #client: EtcdClient;
  readonly #options: EtcdStoreOptions;
  readonly #keys: Keys;
  readonly #mirror: Mirror;
  readonly #feed: Feed;
  readonly #writer: Writer;
  readonly #session: Session;
  readonly #leases: SharedLeases;
  readonly #stack = new AsyncDisposableStack();
  readonly #maxValueBytes: number;
  readonly #quotaBytes: number;
  #pendingBytes = 0;
  /** The commits that are not settled. */
  readonly #commits = new Set<Promise<unknown>>();
  #syncing: Promise<void> | undefined;
  #nextSync: Promise<void> | undefined;
  #reloading: Promise<void> | undefined;
  /** Whether the loaded state, or the one that is being loaded, is outdated for good. */
  #isLost = false;
  #closed: Promise<void> | undefined;

  constructor(client: EtcdClient, options: EtcdStoreOptions) {
    this.#client = client;
    this.#options = options;
    this.#maxValueBytes = options.maxValueBytes ?? defaultMaxValueBytes;
    this.#quotaBytes = options.quotaBytes ?? effectiveQuota();
    this.#keys = new Keys(options.prefix);
    this.#mirror = new Mirror(this.#keys, this.#quotaBytes * historyShare);
    this.#session = new Session(client);
    this.#leases = new SharedLeases(client);
    const onLost = (reason: string): void => this.#reload(reason);
    const onBehind = (): void => void this.sync().catch(() => undefined); // the feed reports failures itself
    this.#feed = new Feed({ client, keys: this.#keys, mirror: this.#mirror, onLost, onBehind });
    this.#writer = new Writer({
      client,
      keys: this.#keys,
      mirror: this.#mirror,
      session: this.#session,
      leases: this.#leases,
      onReplaced: () => onLost('the state of the cluster was replaced'),
    });
    this.#stack.use(client);
    this.#stack.use(this.#session);
    this.#stack.use(this.#feed);
  }

  /** Loads the state. */
  async open(): Promise<void> {
    await this.#load(initialHistory);
    const { keepMs = 5 * 60_000, onNotice = () => undefined } = this.#options;
    if (keepMs === 0) return;
    const onError = (error: unknown): void => onNotice(compactionProblem(error), { reason: reasonOf(error) });
    this.#stack.use(new Compaction({ client: this.#client, keepMs, onError }));
  }

  get isAdopted(): boolean {
    return !this.#mirror.revisions.isBatching;
  }

  get revision(): number {
    return this.#mirror.history.revision;
  }

  get compacted(): number {
    return this.#mirror.history.compacted;
  }

  revisionBefore(commits: number): number {
    return this.#mirror.history.revisionBefore(commits);
  }

  async commit(writes: readonly Write[]): Promise<Commit> {
    this.#checkOpen();
    checkWrites(writes);
    if (this.#commits.size >= maxWaiting) {
      throw new StoreUnavailableError('too many writes are waiting for etcd: retry later');
    }
    const committing = this.#commit(writes);
    const settled = committing.then(
      () => undefined,
      () => undefined,
    );
    this.#commits.add(settled);
    try {
      return await committing;
    } finally {
      this.#commits.delete(settled);
    }
  }

  async #commit(writes: readonly Write[]): Promise<Commit> {
    // A client may have a newer revision from another server.
    const { reached, revisions } = this.#mirror;
    const isAhead = writes.some(({ expect = 0 }) => revisions.etcdOf(expect) > reached);
    if (isAhead) await this.sync();
    const conflict = certainConflict(writes, this.#mirror);
    if (conflict !== undefined) return conflict;
    const state = stateOf(this.#mirror);
    checkSizes(writes, state.tree, this.#maxValueBytes);
    const added = checkQuota(writes, changesOf(writes, state), {
      bytes: this.#mirror.history.bytes + this.#pendingBytes,
      quota: this.#quotaBytes,
    });
    this.#pendingBytes += added;
    try {
      const leases = await this.#leasesOf(writes);
      const bytes = writes.reduce((sum, { key, value = '' }) => sum + key.length + Buffer.byteLength(value) + 50, 0);
      return await this.#writer.commit({ writes, leases, bytes });
    } finally {
      this.#pendingBytes -= added;
    }
  }

  async #leasesOf(writes: readonly Write[]): Promise<ReadonlyMap<number, bigint>> {
    const leases = new Map<number, bigint>();
    for (const { ttlSeconds } of writes) {
      if (ttlSeconds === undefined || leases.has(ttlSeconds)) continue;
      leases.set(ttlSeconds, await this.#leases.idFor(ttlSeconds).catch((error: unknown) => this.#fail(error)));
    }
    return leases;
  }

  async get(key: string): Promise<Entry | undefined> {
    this.#checkOpen();
    await this.sync();
    return this.#mirror.history.current.get(key);
  }

  async range(prefix: string, options: RangeOptions = {}): Promise<Range> {
    this.#checkOpen();
    if (options.revision === undefined) await this.sync();
    const { history } = this.#mirror;
    const revision = options.revision ?? history.revision;
    return rangeOf(history.at(revision), prefix, { ...options, revision });
  }

  async watch(prefix: string, from: number, observer: WatchObserver, signal: AbortSignal): Promise<void> {
    this.#checkOpen();
    const { history, watchers } = this.#mirror;
    const past = from > history.revision ? [] : history.after(from);
    watchers.add({ prefix, from, observer, signal }, past, history.revision);
  }

  /** One call of etcd serves all callers that arrive before it is sent. */
  sync(): Promise<void> {
    if (this.#syncing === undefined) {
      this.#syncing = this.#sync().finally(() => (this.#syncing = undefined));
      return this.#syncing;
    }
    this.#nextSync ??= this.#syncing
      .catch(() => undefined)
      .then(() => {
        this.#nextSync = undefined;
        return this.sync();
      });
    return this.#nextSync;
  }

  async #sync(): Promise<void> {
    this.#checkOpen();
    const before = this.#mirror.reached;
    const { header } = await this.#client
      .call(range, { key: this.#keys.own('none'), isCountOnly: true })
      .catch((error: unknown) => this.#fail(error));
    if (header.revision < before) this.#reload('etcd was restored from a backup');
    if (this.#reloading !== undefined) {
      await withDeadline(this.#reloading, 'the store loads everything again from etcd: try again');
    }
    await this.#reach(header.revision);
  }

  /** Rejects with the error for callers. */
  #fail(error: unknown): never {
    throw failureOf(error) === 'no space' ? new QuotaExceededError() : unavailable(this.#client.url, error);
  }

  /** Resolves when the mirror has reached a revision of etcd, which may have no event in this cluster. */
  async #reach(revision: number): Promise<void> {
    const reached = this.#mirror.reach(revision);
    if (reached === undefined) return;
    const failed = Promise.withResolvers<never>();
    const ask = setTimeout(() => void this.#askForEvents().catch(failed.reject), eventMs);
    try {
      await withDeadline(
        Promise.race([reached, failed.promise]),
        'etcd does not deliver events: reads would be outdated',
      );
    } finally {
      clearTimeout(ask);
    }
  }

  /** Makes etcd send an event after those that are on their way, or its revision. */
  async #askForEvents(): Promise<void> {
    if (this.#feed.hasExactProgress) this.#feed.requestProgress();
    else await this.#writer.barrier();
  }

  /** Drops history of this process; etcd keeps its own for other servers. */
  async compact(revision: number): Promise<void> {
    this.#checkOpen();
    this.#mirror.history.compact(revision);
  }

  async size(): Promise<number> {
    const { dbSize } = await this.#client.call(status, undefined);
    return dbSize;
  }

  status(): StoreStatus {
    const { bytes } = this.#mirror.history;
    const isFull = bytes + this.#maxValueBytes > this.#quotaBytes;
    const message = this.#feed.problem ?? this.#writer.problem;
    return {
      failure: message === undefined ? undefined : { message, isFatal: false },
      bytes,
      quotaBytes: this.#quotaBytes,
      quotaReached: this.#writer.hasNoSpace ? 'etcd' : isFull ? 'store' : undefined,
      damaged: noDamage,
    };
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await Promise.all(this.#commits);
    await this.#writer.idle();
    await this.#stack.disposeAsync();
    this.#mirror.close(closedError());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checkOpen(): void {
    if (this.#closed !== undefined) throw closedError();
  }

  /** Loads the state again, because events are lost. Watches end with a `CompactedError`. */
  #reload(reason: string): void {
    this.#isLost = true;
    if (this.#closed !== undefined || this.#reloading !== undefined) return;
    this.#options.onNotice?.('loading everything again from etcd', { reason });
    this.#feed.suspend();
    this.#reloading = this.#reloadUntilDone().finally(() => (this.#reloading = undefined));
  }

  async #reloadUntilDone(): Promise<void> {
    for (let pause = retryMs.first; this.#closed === undefined; pause = Math.min(2 * pause, retryMs.longest)) {
      this.#isLost = false;
      try {
        // Without history, so that the state does not go back for those that read meanwhile.
        await this.#load(0);
        if (!this.#isLost) return;
      } catch (error) {
        this.#options.onNotice?.('cannot load from etcd, retrying', { reason: reasonOf(error) });
        await sleep(pause);
      }
    }
  }

  /** Loads the state of some revisions ago, and follows the events since, which are the history that clients resume from. */
  async #load(historyLength: number): Promise<void> {
    const { owner } = this.#options;
    if (owner !== undefined) await claimPrefix(this.#client, this.#keys, owner);
    const epoch = await this.#currentEpoch();
    const { header } = await this.#client.call(range, { key: this.#keys.prefix, isCountOnly: true });
    const oldest = Math.max(1, header.revision - historyLength, epoch.modRevision);
    const { kvs, revision } = await this.#readFrom(oldest);
    if (!hasEpoch(kvs, this.#keys, epoch)) {
      await this.#load(historyLength); // a restore has begun since the epoch was read
      return;
    }
    this.#mirror.load({ kvs, revision, epoch });
    this.#feed.start();
    for (let before = 0; this.#mirror.reached < header.revision;) {
      before = this.#mirror.reached;
      await this.#reach(header.revision).catch((error: unknown) => {
        if (this.#mirror.reached === before) throw error; // otherwise events arrive, and take longer
      });
    }
  }

  /** The state at a revision of etcd, or at the oldest later one that it still has. */
  async #readFrom(revision: number): Promise<{ readonly kvs: readonly KeyValue[]; readonly revision: number }> {
    try {
      return { kvs: await readAll(this.#client, this.#keys, revision), revision };
    } catch (error) {
      if (failureOf(error) !== 'compacted') throw error;
      const compacted = await compactedRevision(this.#client, this.#keys);
      return { kvs: await readAll(this.#client, this.#keys, compacted), revision: compacted };
    }
  }

  /** The epoch of the prefix. Its revisions are greater than those that this server has had. */
  async #currentEpoch(): Promise<Epoch> {
    const epoch = await readEpoch(this.#client, this.#keys);
    requireComplete(epoch, this.#keys);
    const { header } = await this.#client.call(range, { key: this.#keys.prefix, isCountOnly: true });
    const revisions = new Revisions(epoch);
    const { revision } = this.#mirror.history;
    // A kube-apiserver would not raise its revisions.
    if (!revisions.isBatching || revisions.lastOf(header.revision) >= revision) return epoch;
    await raiseRevisions(this.#client, this.#keys, { epoch, revision, etcd: header.revision });
    return this.#currentEpoch();
  }
}

/** Rejects with a `StoreUnavailableError` when a promise takes too long. */
async function withDeadline(promise: Promise<void>, message: string): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new StoreUnavailableError(message)), syncMs);
  try {
    await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

const noDamage: StoreStatus['damaged'] = new Map();

const closedError = (): StoreUnavailableError => new StoreUnavailableError('the store is closed');
