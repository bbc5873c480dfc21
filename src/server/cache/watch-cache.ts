import { setTimeout as sleep } from 'node:timers/promises';

import { messageOf } from '../../api/error-message.ts';
import type { Kind } from '../../api/kind.ts';
import { setTimeout, yieldToEventLoop } from '../../machine/timers.ts';
import { CompactedError } from '../../store/errors.ts';
import type { Change, Entry, Store, WatchObserver } from '../../store/store.ts';
import type { HistoryLimits } from './history.ts';
import { forRegistryKey, registryPrefix, registryRoot } from './layout.ts';
import { ResourceCache } from './resource-cache.ts';

/** Ten minutes of history, or less where that is too large. */
const defaultLimits: HistoryLimits = { maxEvents: 10_000, maxBytes: 16 << 20, maxAgeMs: 600_000 };

/** How long a read waits for a revision that the cache has not reached. */
const defaultWaitMs = 3000;

/** The pause between attempts to load everything again. */
const restartMs = 500;

/** Settings of the watch cache. */
export interface CacheTuning {
  readonly limits?: HistoryLimits;
  /** How long `waitForRevision` waits; default 3 s. */
  readonly waitMs?: number;
}

export interface WatchCacheOptions extends CacheTuning {
  readonly store: Store;
  /** The kinds that are served. A view shares the cache of the kind that stores it. */
  readonly kinds: readonly Kind[];
  readonly clock: () => number;
  /** The kinds that stored objects define, once the caches of `kinds` are loaded. */
  readonly customKinds?: (watchCache: WatchCache) => readonly Kind[];
  /** Called when the watch of the store ended: the cache receives no further changes. */
  readonly onLost: (error: Error) => void;
}

/**
 * The current state of every resource, fed by one watch of the store. All changes up to `revision` are in the caches and
 * were delivered to the watchers.
 */
export class WatchCache {
  /** prefix → the cache of the keys under it */
  readonly #byPrefix = new Map<string, ResourceCache>();
  readonly #byKind = new Map<Kind, ResourceCache>();
  /** prefix → a cache that is being loaded, and the changes since */
  readonly #loading = new Map<string, Loading>();
  /** How often everything was loaded again. */
  #restarts = 0;
  readonly #options: WatchCacheOptions;
  readonly #stop = new AbortController();
  readonly #waiting = new Set<{ readonly revision: number; readonly resolve: () => void }>();
  #revision = 0;
  #restarting: Promise<void> | undefined;

  private constructor(options: WatchCacheOptions, floor: number) {
    this.#options = options;
    for (const kind of options.kinds) this.#open(kind, floor);
  }

  /** Adds an empty cache for a kind that stores its objects. */
  #open(kind: Kind, floor: number): ResourceCache | undefined {
    if (!kind.stored || kind.storage !== undefined) return undefined;
    const cache = new ResourceCache(kind, floor, this.#options.limits ?? defaultLimits);
    this.#install(cache);
    return cache;
  }

  #install(cache: ResourceCache): void {
    this.#byPrefix.set(cache.prefix, cache);
    this.#byKind.set(cache.kind, cache);
  }

  /** Loads the state and the history that the store still has, and watches the store from there. */
  static async open(options: WatchCacheOptions): Promise<WatchCache> {
    const from = options.store.compacted;
    const watchCache = new WatchCache(options, from);
    const { entries, revision } = await options.store.range(registryRoot);
    const rest: Entry[] = [];
    for (const entry of entries) {
      const cache = watchCache.#cacheOf(entry.key);
      if (cache === undefined) rest.push(entry);
      else cache.load(entry);
    }
    for (const kind of options.customKinds?.(watchCache) ?? []) watchCache.#open(kind, from);
    for (const entry of rest) watchCache.#cacheOf(entry.key)?.load(entry);
    watchCache.#revision = revision;
    await watchCache.#follow(from, revision);
    return watchCache;
  }

  /** Watches the store from `from`; the objects are those of the revision `loaded`. */
  async #follow(from: number, loaded: number): Promise<void> {
    const observer: WatchObserver = {
      onChanges: (changes, reached) => this.#take(changes, reached, loaded),
      onEnd: (error) => {
        if (!(error instanceof CompactedError)) {
          this.#options.onLost(error);
          return;
        }
        const restarting = this.#restart().finally(() => {
          if (this.#restarting === restarting) this.#restarting = undefined;
        });
        this.#restarting = restarting;
      },
    };
    await this.#options.store.watch(registryRoot, from, observer, this.#stop.signal);
  }

  /** Loads everything again, because changes were missed. Never rejects. */
  async #restart(): Promise<void> {
    const { store, clock, onLost } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const { entries, revision } = await store.range(registryRoot);
        const byCache = Map.groupBy(entries, ({ key }) => this.#cacheOf(key));
        this.#restarts++;
        this.#revision = revision; // may be lower than before, when the store was restored from a backup
        for (const cache of this.caches) cache.replace(byCache.get(cache) ?? [], revision, clock());
        await this.#follow(revision, revision);
        return;
      } catch (error) {
        if (!store.isShared && !(error instanceof CompactedError)) {
          onLost(error instanceof Error ? error : new Error(messageOf(error)));
          return;
        }
        // The store reports the reason itself. The timer does not keep the process running.
        await sleep(restartMs, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  }

  /** Resolves when reads include every write that any server of the store has acknowledged before the call. */
  async sync(): Promise<void> {
    await this.#options.store.sync();
    await this.#restarting;
  }

  get revision(): number {
    return this.#revision;
  }

  get caches(): Iterable<ResourceCache> {
    return this.#byPrefix.values();
  }

  /** Whether the kind has a cache; a view has that of the kind that stores it. */
  has(kind: Kind): boolean {
    return this.#byKind.has(kind.storage?.kind ?? kind);
  }

  /**
   * Adds a kind that stores its objects; resolves once they are loaded. The cache of an earlier kind with the same keys
   * serves until then, and its watches end.
   */
  async add(kind: Kind): Promise<void> {
    const { store, limits = defaultLimits, clock } = this.#options;
    const prefix = registryPrefix(kind);
    for (;;) {
      const loading: Loading = { changes: [] };
      this.#loading.set(prefix, loading);
      const restarts = this.#restarts;
      try {
        const { entries, revision } = await store.range(prefix);
        const cache = new ResourceCache(kind, revision, limits);
        await loadInSlices(cache, entries);
        if (!(await this.waitForRevision(revision))) throw new Error('the watch of the store is behind');
        if (this.#loading.get(prefix) !== loading) return; // removed, or replaced by a newer kind
        if (restarts !== this.#restarts) continue;
        for (const change of loading.changes) if (change.revision > revision) cache.apply(change, clock());
        this.#loading.delete(prefix);
        this.#remove(prefix);
        this.#install(cache);
        return;
      } catch (error) {
        if (this.#loading.get(prefix) === loading) this.#loading.delete(prefix);
        throw error;
      }
    }
  }

  /** Removes a kind; its watches end. */
  remove(kind: Kind): void {
    const prefix = registryPrefix(kind);
    this.#loading.delete(prefix);
    if (this.#byKind.has(kind)) this.#remove(prefix);
  }

  #remove(prefix: string): void {
    const cache = this.#byPrefix.get(prefix);
    if (cache === undefined) return;
    this.#byPrefix.delete(prefix);
    this.#byKind.delete(cache.kind);
    for (const watcher of cache.watchers) watcher.end?.();
  }

  /** The cache of a kind; for a view, that of the kind that stores it. */
  of(kind: Kind): ResourceCache {
    const cache = this.#byKind.get(kind.storage?.kind ?? kind);
    if (cache === undefined) throw new Error(`bug: ${kind.kind} has no cache`);
    return cache;
  }

  /** Resolves with true once the cache has reached `revision`, or with false after a timeout. */
  waitForRevision(revision: number): Promise<boolean> {
    if (this.#revision >= revision) return Promise.resolve(true);
    return new Promise((resolve) => {
      const waiter = { revision, resolve: () => finish(true) };
      const timer = setTimeout(() => finish(false), this.#options.waitMs ?? defaultWaitMs);
      const finish = (isReached: boolean): void => {
        clearTimeout(timer);
        this.#waiting.delete(waiter);
        resolve(isReached);
      };
      this.#waiting.add(waiter);
    });
  }

  /** Reads all objects again, because the store may be able to decrypt other ones than before. */
  async reload(): Promise<void> {
    for (const cache of this.caches) {
      const { entries } = await this.#options.store.range(cache.prefix);
      for (const entry of entries) {
        // The watch delivers newer revisions.
        if (entry.revision === cache.get(entry.key)?.revision) cache.load(entry);
      }
    }
  }

  close(): void {
    this.#stop.abort();
  }

  #take(changes: readonly Change[], reached: number, loaded: number): void {
    const time = this.#options.clock();
    for (const change of changes) {
      forRegistryKey(this.#loading, change.key)?.changes.push(change);
      const cache = this.#cacheOf(change.key);
      if (change.revision <= loaded) cache?.backfill(change, time);
      else cache?.apply(change, time);
    }
    // Last: a reader must not see a revision before all its changes are applied.
    this.#revision = Math.max(this.#revision, reached);
    for (const waiter of this.#waiting) if (waiter.revision <= this.#revision) waiter.resolve();
  }

  #cacheOf(key: string): ResourceCache | undefined {
    return forRegistryKey(this.#byPrefix, key);
  }
}

/** A kind that is being loaded. */
interface Loading {
  /** The changes since the read of the store began. */
  readonly changes: Change[];
}

/** Objects that are loaded before other requests run. */
const sliceEntries = 500;

async function loadInSlices(cache: ResourceCache, entries: readonly Entry[]): Promise<void> {
  for (const [index, entry] of entries.entries()) {
    if (index % sliceEntries === sliceEntries - 1) await yieldToEventLoop();
    cache.load(entry);
  }
}
