import type { Kind } from '../../api/kind.ts';
import { setTimeout } from '../../machine/timers.ts';
import type { Change, Store } from '../../store/store.ts';
import type { HistoryLimits } from './history.ts';
import { forRegistryKey, registryRoot } from './registry-keys.ts';
import { ResourceCache } from './resource-cache.ts';

/** Ten minutes of history, as far as that stays small. */
const defaultLimits: HistoryLimits = { maxEvents: 10_000, maxBytes: 16 << 20, maxAgeMs: 600_000 };

/** How long a reader waits for a revision it has heard of elsewhere. */
const defaultWaitMs = 3000;

/** What may be tuned. */
export interface CacheTuning {
  /** How much history each resource keeps. */
  readonly limits?: HistoryLimits;
  /** How long `reached` waits; default 3 s. */
  readonly waitMs?: number;
}

export interface WatchCacheOptions extends CacheTuning {
  readonly store: Store;
  /** The kinds that are served. Views share the cache of the kind that stores them; what is not stored has none. */
  readonly kinds: readonly Kind[];
  readonly clock: () => number;
  /** The store's watch broke: nothing new will be seen. */
  readonly onLost: (error: Error) => void;
}

/**
 * The watch cache: every resource's current state, fed by one watch of the store.
 *
 * `revision` is how far it has come; every change up to it is in the caches and has been told to their watchers.
 */
export class WatchCache {
  /** prefix → the cache of the keys under it */
  readonly #byPrefix: ReadonlyMap<string, ResourceCache>;
  readonly #byKind: ReadonlyMap<Kind, ResourceCache>;
  readonly #options: WatchCacheOptions;
  readonly #stop = new AbortController();
  readonly #waiting = new Set<{ readonly revision: number; readonly resolve: () => void }>();
  #revision = 0;

  private constructor(options: WatchCacheOptions, floor: number) {
    const { limits = defaultLimits, kinds } = options;
    const caches = kinds
      .filter((kind) => kind.stored && kind.storage === undefined)
      .map((kind) => new ResourceCache(kind, floor, limits));
    this.#options = options;
    this.#byPrefix = new Map(caches.map((cache) => [cache.prefix, cache]));
    this.#byKind = new Map(caches.map((cache) => [cache.kind, cache]));
  }

  /** Loads the state and the history that the store still has, and follows from there. */
  static async open(options: WatchCacheOptions): Promise<WatchCache> {
    const from = options.store.compacted;
    const watchCache = new WatchCache(options, from);
    const { entries, revision } = await options.store.range(registryRoot);
    for (const entry of entries) watchCache.#cacheOf(entry.key)?.load(entry);
    watchCache.#revision = revision;
    await options.store.watch(
      registryRoot,
      from,
      {
        onChanges: (changes, reached) => watchCache.#take(changes, reached, revision),
        onEnd: options.onLost,
      },
      watchCache.#stop.signal,
    );
    return watchCache;
  }

  get revision(): number {
    return this.#revision;
  }

  get caches(): Iterable<ResourceCache> {
    return this.#byPrefix.values();
  }

  /** Where the objects of a kind are; those of a view are with the kind that stores them. */
  of(kind: Kind): ResourceCache {
    const cache = this.#byKind.get(kind.storage?.kind ?? kind);
    if (cache === undefined) throw new Error(`bug: ${kind.kind} has no cache`);
    return cache;
  }

  /** Resolves true once `revision` has been seen, or false when it takes too long. */
  waitForRevision(revision: number): Promise<boolean> {
    if (this.#revision >= revision) return Promise.resolve(true);
    return new Promise((resolve) => {
      const waiter = { revision, resolve: () => finish(true) };
      const timer = setTimeout(() => finish(false), this.#options.waitMs ?? defaultWaitMs);
      const finish = (seen: boolean): void => {
        clearTimeout(timer);
        this.#waiting.delete(waiter);
        resolve(seen);
      };
      this.#waiting.add(waiter);
    });
  }

  /** Reads every object again: the store may decrypt others than before. */
  async reload(): Promise<void> {
    for (const cache of this.caches) {
      const { entries } = await this.#options.store.range(cache.prefix);
      for (const entry of entries) {
        // A newer one comes by the watch.
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
      const cache = this.#cacheOf(change.key);
      if (change.revision <= loaded) cache?.remember(change, time);
      else cache?.apply(change, time);
    }
    // Only now: who asks meanwhile must not be told of a revision it has not seen whole.
    this.#revision = Math.max(this.#revision, reached);
    for (const waiter of this.#waiting) if (waiter.revision <= this.#revision) waiter.resolve();
  }

  #cacheOf(key: string): ResourceCache | undefined {
    return forRegistryKey(this.#byPrefix, key);
  }
}
