import type { Kind } from '../../api/kind.ts';
import type { Change, Store } from '../../store/store.ts';
import type { HistoryLimits } from './history.ts';
import { registryRoot, ResourceCache } from './resource-cache.ts';

/** Ten minutes of history, as far as that stays small. */
export const defaultLimits: HistoryLimits = { maxEvents: 10_000, maxBytes: 16 << 20, maxAgeMs: 600_000 };

export interface HubOptions {
  readonly store: Store;
  /** The kinds that are stored; views of them share their cache. */
  readonly kinds: readonly Kind[];
  readonly limits?: HistoryLimits;
  readonly clock: () => number;
  /** The store's watch broke: nothing new will be seen. */
  readonly onLost: (error: Error) => void;
}

/**
 * The watch cache: every resource's current state, fed by one watch of the store.
 *
 * `revision` is how far it has come; every change up to it is in the caches and has been told to their watchers.
 */
export class CacheHub {
  readonly #caches: ReadonlyMap<string, ResourceCache>;
  readonly #options: HubOptions;
  readonly #stop = new AbortController();
  readonly #waiting = new Set<{ readonly revision: number; readonly resolve: () => void }>();
  #revision = 0;

  private constructor(options: HubOptions) {
    const limits = options.limits ?? defaultLimits;
    this.#options = options;
    this.#caches = new Map(
      options.kinds
        .filter((kind) => kind.storage === undefined)
        .map((kind) => new ResourceCache(kind, options.store.compacted, limits))
        .map((cache) => [cache.prefix, cache]),
    );
  }

  /** Loads the state and the history that the store still has, and follows from there. */
  static async open(options: HubOptions): Promise<CacheHub> {
    const hub = new CacheHub(options);
    const { entries, revision } = await options.store.range(registryRoot);
    for (const entry of entries) hub.#cacheOf(entry.key)?.load(entry);
    hub.#revision = revision;
    await options.store.watch(
      registryRoot,
      options.store.compacted,
      {
        onChanges: (changes, reached) => hub.#take(changes, reached, revision),
        onEnd: options.onLost,
      },
      hub.#stop.signal,
    );
    return hub;
  }

  get revision(): number {
    return this.#revision;
  }

  get caches(): Iterable<ResourceCache> {
    return this.#caches.values();
  }

  cache(kind: Kind): ResourceCache {
    const stored = kind.storage?.kind ?? kind;
    for (const cache of this.#caches.values()) if (cache.kind === stored) return cache;
    throw new Error(`bug: ${stored.kind} has no cache`);
  }

  /** Resolves true once `revision` has been seen, or false after `timeoutMs`. */
  reached(revision: number, timeoutMs: number): Promise<boolean> {
    if (this.#revision >= revision) return Promise.resolve(true);
    return new Promise((resolve) => {
      const waiter = { revision, resolve: () => finish(true) };
      const timer = setTimeout(() => finish(false), timeoutMs);
      const finish = (seen: boolean): void => {
        clearTimeout(timer);
        this.#waiting.delete(waiter);
        resolve(seen);
      };
      this.#waiting.add(waiter);
    });
  }

  close(): void {
    this.#stop.abort();
  }

  #take(changes: readonly Change[], reached: number, loaded: number): void {
    const time = this.#options.clock();
    for (const change of changes) {
      const cache = this.#cacheOf(change.key);
      if (change.revision <= loaded) cache?.remember(change, time);
      else {
        // A watcher that asks during the change must not be told of a revision it has not seen whole.
        cache?.apply(change, time);
      }
    }
    this.#revision = Math.max(this.#revision, reached);
    for (const waiter of this.#waiting) if (waiter.revision <= this.#revision) waiter.resolve();
  }

  /** The resource a key belongs to: its prefix is one or two segments after the root. */
  #cacheOf(key: string): ResourceCache | undefined {
    const first = key.indexOf('/', registryRoot.length) + 1;
    const core = this.#caches.get(key.slice(0, first));
    if (core !== undefined) return core;
    return this.#caches.get(key.slice(0, key.indexOf('/', first) + 1));
  }
}
