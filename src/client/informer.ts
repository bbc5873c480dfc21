import type { Kind } from '../api/kind.ts';
import type { ApiObject } from '../api/metadata.ts';
import { StatusError } from '../api/errors.ts';
import type { Client, Selection, WatchEvent } from './client.ts';
import type { BackoffOptions, Clock, Random } from './clock.ts';
import { afterPendingReads, backoffMs, silenceMs, sleep, startWatchdog, systemClock } from './clock.ts';
import type { Key } from './key.ts';
import { keyOf } from './key.ts';
import type { Change, Indexes, Lister } from './object-cache.ts';
import { ObjectCache } from './object-cache.ts';
import type { Usage } from './limits.ts';
import { defaultBudget, ObjectBudget } from './limits.ts';
import { LimitExceededError } from './errors.ts';
import { hasStatusCode } from './transport.ts';
import { unlessAborted } from './unless-aborted.ts';

/** Receives each change once, in order, after the cache was updated. What a handler throws goes to `onError`. */
export interface Handler<T> {
  added?(object: T): void;
  updated?(object: T, old: T): void;
  deleted?(last: T): void;
}

export interface InformerOptions<T extends ApiObject, Index extends string = never> extends Selection {
  /**
   * The version to request where servers differ, evaluated before every list and watch. All versions must have the same
   * objects and fields, so that a watch can resume in another version. Default: the version of the kind.
   */
  readonly servedAs?: () => Kind<T>;
  /** Index functions. They run on every change and must be cheap. */
  readonly indexes?: Indexes<T, Index>;
  /** Removes fields before an object is cached; name, namespace, UID and revision must stay. */
  readonly trim?: (object: T) => T;
  /** The memory budget, which may be shared; default: a budget of its own above the size of any cluster. */
  readonly budget?: ObjectBudget;
  /** Called for every error; the informer continues. */
  readonly onError?: (error: unknown) => void;
  /** Called when `excess` is set and when it is cleared. */
  readonly onExcess?: () => void;
  /** Called when the server has accepted a watch, so earlier errors are resolved. */
  readonly onBegin?: () => void;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Default: 0.8 s to 30 s. */
  readonly backoff?: BackoffOptions;
}

/**
 * A cache of the objects of a kind:
 *
 *     list, or watch with initial events ─► synced ─► watch from the last revision ─┐
 *                  ▲                                   ▲ ended or failed: resume ───┤
 *                  └──────────── 410 Expired: compare with a new list ──────────────┘
 *
 * Reconnecting neither loses nor repeats a change. `run` ends only when its signal fires.
 */
export class Informer<T extends ApiObject, Index extends string = never> implements Lister<T, Index> {
  readonly #client: Client;
  readonly #kind: Kind<T>;
  readonly #options: InformerOptions<T, Index>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #cache: ObjectCache<T, Index>;
  readonly #handlers = new Set<Handler<T>>();
  readonly #synced = Promise.withResolvers<void>();
  #hasSynced = false;
  readonly #budget: ObjectBudget;
  /** Key → size of a cached object on the wire, and the sum of the sizes. */
  #sizes = new Map<Key, number>();
  #bytes = 0;
  #excess: LimitExceededError | undefined;
  /** The revision of the cache; undefined: start with a list. */
  #revision: string | undefined;
  /** Monotonic time of the last event of the server. */
  #lastActivityAt: number | undefined;
  /** Whether the server supports `sendInitialEvents`, so that no list is needed. */
  #hasWatchList = true;
  /** Whether the server sends bookmarks, about one per minute. */
  #hasBookmarks = false;

  constructor(client: Client, kind: Kind<T>, options: InformerOptions<T, Index> = {}) {
    this.#client = client;
    this.#kind = kind;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#budget = options.budget ?? new ObjectBudget(defaultBudget);
    // A cast because `Index` is `never` if there are no indexes.
    this.#cache = new ObjectCache<T, Index>(options.indexes ?? ({} as Indexes<T, Index>));
  }

  get(key: Key): T | undefined {
    return this.#cache.get(key);
  }

  list(): readonly T[] {
    return this.#cache.list();
  }

  by(index: Index, value: string): readonly T[] {
    return this.#cache.by(index, value);
  }

  /** Whether the first sync is complete. From then on the cache may be stale but never partial. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Set while the objects of the server exceed the budget and the cache is stale; the list is retried. */
  get excess(): LimitExceededError | undefined {
    return this.#excess;
  }

  /** Milliseconds since the last event or bookmark of the server, see `silenceMs`; undefined: there was none. */
  get silentMs(): number | undefined {
    return this.#lastActivityAt === undefined ? undefined : silenceMs(this.#clock, this.#lastActivityAt);
  }

  /** Resolves when the first sync is complete; rejects if the signal fires first. */
  async synced(signal?: AbortSignal): Promise<void> {
    await unlessAborted(this.#synced.promise, this.#hasSynced ? undefined : signal);
  }

  /** Delivers all cached objects as added, then every change. The returned function unsubscribes. */
  subscribe(handler: Handler<T>): () => void {
    this.#handlers.add(handler);
    for (const object of this.#cache.list()) this.#notifyHandler(handler, { type: 'added', object });
    return () => void this.#handlers.delete(handler);
  }

  /** Follows the server until the signal fires. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const started = this.#clock.elapsed();
      const end = await this.#follow(signal);
      if (signal.aborted) return;
      // Servers end watches every few minutes. If they end immediately, the informer backs off.
      const isHealthy =
        !(end.error instanceof LimitExceededError) &&
        (end.delivered > 0 || this.#clock.elapsed() - started >= shortWatchMs);
      failures = isHealthy ? 0 : failures + 1;
      if (end.error !== undefined) this.#report(end.error);
      if (isHealthy && (end.error === undefined || hasStatusCode(end.error, 410))) continue;
      await sleep(this.#clock, this.#delayMs(end.error, failures), signal);
    }
  }

  #delayMs(error: unknown, failures: number): number {
    const isExcess = error instanceof LimitExceededError;
    const backoff = isExcess ? excessBackoff : (this.#options.backoff ?? defaultBackoff);
    const delayMs = backoffMs(backoff, Math.max(failures, 1), this.#random);
    const retryAfterMs = error instanceof StatusError ? (error.status.details?.retryAfterSeconds ?? 0) * 1000 : 0;
    return Math.max(delayMs, Math.min(retryAfterMs, maxRetryAfterMs));
  }

  /** Runs one list or watch to its end; `delivered` counts the events after the cache was complete. */
  async #follow(signal: AbortSignal): Promise<{ readonly delivered: number; readonly error?: unknown }> {
    let delivered = 0;
    const own = new AbortController();
    const timeoutSeconds = Math.round(300 * (1 + this.#random()));
    const cancel = this.#deadlines(own, timeoutSeconds);
    const scope = AbortSignal.any([signal, own.signal]);
    try {
      if (this.#revision === undefined && !this.#hasWatchList) await this.#list(scope);
      const initial = new InitialEvents<T>();
      for await (const event of this.#watch(scope, timeoutSeconds)) {
        if (scope.aborted) break;
        if (this.#revision === undefined) this.#collect(initial, event);
        else {
          this.#apply(event);
          delivered++;
        }
      }
      // The watch ended before the initial events were complete: the server may not support them.
      if (this.#revision === undefined && !scope.aborted) this.#hasWatchList = false;
      return { delivered };
    } catch (error) {
      if (signal.aborted) return { delivered };
      this.#recover(error);
      return { delivered, error };
    } finally {
      cancel();
    }
  }

  /** Starts the timeouts of a watch: total duration, silence, and silence during the initial events. */
  #deadlines(own: AbortController, timeoutSeconds: number): () => void {
    const drop = (why: string): 'done' => {
      own.abort(new Error(why));
      return 'done';
    };
    const activity = { clock: this.#clock, lastActivityAt: () => this.#lastActivityAt };
    const cancels = [
      afterPendingReads(this.#clock, (timeoutSeconds + 30) * 1000, () => drop('the watch exceeded its duration')),
      // A connection can die without being closed. Missing bookmarks reveal that. Events may have been lost, so the
      // cache is compared with a new list.
      startWatchdog({ ...activity, timeoutMs: maxSilenceMs }, () => {
        if (!this.#hasBookmarks) return 'wait';
        this.#revision = undefined;
        return drop('the watch received no bookmarks, listing again');
      }),
      // Some servers ignore `sendInitialEvents` and never send the bookmark that ends them: use a list instead.
      startWatchdog({ ...activity, timeoutMs: initialEventsTimeoutMs }, () => {
        if (this.#revision !== undefined || !this.#hasWatchList) return 'done';
        this.#hasWatchList = false;
        return drop('the server did not mark the end of the initial events');
      }),
    ];
    return () => {
      for (const cancel of cancels) cancel();
    };
  }

  get #servedKind(): Kind<T> {
    return this.#options.servedAs?.() ?? this.#kind;
  }

  async #list(signal: AbortSignal): Promise<void> {
    const check = (usage: Usage): void => this.#budget.use(this, usage);
    const list = await this.#client.list(this.#servedKind, { ...this.#options, check, signal });
    const each = Math.ceil(list.bytes / Math.max(1, list.items.length));
    const sizes = new Map(list.items.map((item) => [keyOf(item), each]));
    this.#replace(list.items.map(this.#trimmed), list.resourceVersion, sizes);
  }

  #watch(signal: AbortSignal, timeoutSeconds: number): AsyncIterable<WatchEvent<T>> {
    const isBeginning = this.#revision === undefined;
    return this.#client.watch(this.#servedKind, {
      ...this.#options,
      resourceVersion: this.#revision ?? '',
      ...(isBeginning ? { sendInitialEvents: true } : {}),
      timeoutSeconds,
      signal,
    });
  }

  /** Adapts the next attempt to the error. */
  #recover(error: unknown): void {
    if ([400, 422, 500].some((code) => hasStatusCode(error, code))) {
      // Servers without the feature reject it as invalid; Kubernetes over an old etcd fails with 500.
      if (this.#revision === undefined) this.#hasWatchList = false;
    }
    // The revision is compacted, or the stream is invalid: list again.
    if (hasStatusCode(error, 410) || error instanceof SyntaxError) this.#revision = undefined;
    if (!(error instanceof LimitExceededError)) return;
    this.#revision = undefined;
    this.#setExcess(error);
    this.#budget.use(this, { objects: this.#sizes.size, bytes: this.#bytes });
  }

  /** Collects initial events until they are complete, because a controller must not act on a partial cache. */
  #collect(initial: InitialEvents<T>, { type, object, bytes }: WatchEvent<T>): void {
    this.#lastActivityAt = this.#clock.elapsed();
    if (type === 'BOOKMARK') {
      if (object.metadata.annotations?.[initialEventsEnd] !== 'true') return;
      this.#replace([...initial.objects.values()], object.metadata.resourceVersion ?? '', initial.sizes);
    } else {
      initial.set(keyOf(object), type === 'DELETED' ? undefined : this.#trimmed(object), bytes);
      this.#budget.use(this, { objects: initial.objects.size, bytes: initial.bytes });
    }
  }

  #replace(objects: readonly T[], revision: string, sizes: Map<Key, number>): void {
    this.#sizes = sizes;
    this.#bytes = sizes.values().reduce((sum, bytes) => sum + bytes, 0);
    const changes = this.#cache.replace(objects);
    this.#revision = revision;
    this.#lastActivityAt = this.#clock.elapsed();
    this.#notify(changes);
    this.#setExcess(undefined);
    this.#hasSynced = true;
    this.#synced.resolve();
  }

  #setExcess(excess: LimitExceededError | undefined): void {
    const hasChanged = (excess === undefined) !== (this.#excess === undefined);
    this.#excess = excess;
    if (hasChanged) this.#options.onExcess?.();
  }

  #apply({ type, object, bytes }: WatchEvent<T>): void {
    if (type !== 'BOOKMARK') this.#resize(keyOf(object), type === 'DELETED' ? undefined : bytes);
    this.#revision = object.metadata.resourceVersion;
    this.#lastActivityAt = this.#clock.elapsed();
    if (type === 'BOOKMARK') {
      this.#hasBookmarks = true;
      return;
    }
    const trimmed = this.#trimmed(object);
    this.#notify(type === 'DELETED' ? this.#cache.delete(trimmed) : this.#cache.set(trimmed));
  }

  /** Records the size of an object; undefined: it was deleted. Throws if the budget is exceeded. */
  #resize(key: Key, bytes: number | undefined): void {
    const before = this.#sizes.get(key);
    const objects = this.#sizes.size + (bytes === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
    const sum = this.#bytes + (bytes ?? 0) - (before ?? 0);
    this.#budget.use(this, { objects, bytes: sum });
    this.#bytes = sum;
    if (bytes === undefined) this.#sizes.delete(key);
    else this.#sizes.set(key, bytes);
  }

  readonly #trimmed = (object: T): T => this.#options.trim?.(object) ?? object;

  #notify(changes: readonly Change<T>[]): void {
    // A handler that subscribes during delivery has already received these changes from the cache.
    const handlers = [...this.#handlers];
    for (const change of changes) {
      for (const handler of handlers) if (this.#handlers.has(handler)) this.#notifyHandler(handler, change);
    }
  }

  #notifyHandler(handler: Handler<T>, change: Change<T>): void {
    try {
      if (change.type === 'added') handler.added?.(change.object);
      else if (change.type === 'updated') handler.updated?.(change.object, change.old);
      else handler.deleted?.(change.object);
    } catch (error) {
      this.#report(error);
    }
  }

  #report(error: unknown): void {
    this.#options.onError?.(error);
  }
}

/** The initial objects of a watch and their sizes on the wire. */
class InitialEvents<T> {
  readonly objects = new Map<Key, T>();
  readonly sizes = new Map<Key, number>();
  bytes = 0;

  /** Sets an object; undefined: it was deleted. */
  set(key: Key, object: T | undefined, bytes: number): void {
    this.bytes -= this.sizes.get(key) ?? 0;
    this.objects.delete(key);
    this.sizes.delete(key);
    if (object === undefined) return;
    this.objects.set(key, object);
    this.sizes.set(key, bytes);
    this.bytes += bytes;
  }
}

const initialEventsEnd = 'k8s.io/initial-events-end';
/** Longer than the default, because listing so many objects again is expensive. */
const excessBackoff: BackoffOptions = { baseMs: 5000, maxMs: 300_000 };
const defaultBackoff: BackoffOptions = { baseMs: 800, maxMs: 30_000 };
const shortWatchMs = 1000;
const initialEventsTimeoutMs = 3000;
/** Three bookmark intervals. */
const maxSilenceMs = 180_000;
const maxRetryAfterMs = 60_000;
