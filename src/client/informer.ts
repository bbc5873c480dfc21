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

/** Who is told of changes. Each is told once, in order, after the cache has it. What a handler throws is reported. */
export interface Handler<T> {
  added?(object: T): void;
  updated?(object: T, old: T): void;
  deleted?(last: T): void;
}

export interface InformerOptions<T extends ApiObject, Index extends string = never> extends Selection {
  /**
   * The version of the kind to ask for, where servers differ; asked before every list and watch. Versions are views of the
   * same objects with the same fields, so that one goes on where another ended. Default: that of the kind.
   */
  readonly servedAs?: () => Kind<T>;
  /** Ways to find objects beside their key. They run on every change: keep them cheap. */
  readonly indexes?: Indexes<T, Index>;
  /** Makes an object smaller before it is kept; name, namespace, uid and revision must stay. */
  readonly trim?: (object: T) => T;
  /** What it may hold, together with others; default: of its own, more than any cluster has. */
  readonly budget?: ObjectBudget;
  /** Told of whatever went wrong; the informer goes on regardless. */
  readonly onError?: (error: unknown) => void;
  /** Called when the server begins to send more than is held, see `excess`, and when it no longer does. */
  readonly onExcess?: () => void;
  /** Told whenever the server has accepted a watch: what went wrong before is over. */
  readonly onBegin?: () => void;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Default: 0.8 s to 30 s. */
  readonly backoff?: BackoffOptions;
}

/**
 * The objects of a kind, kept as they are on the server:
 *
 *     list, or watch from the beginning ─► synced ─► watch from the last revision ─┐
 *                  ▲                                  ▲ ended, broken: again ──────┤
 *                  └──────────── 410: forgotten, compare with a new list ──────────┘
 *
 * A broken connection never loses a change and never tells one twice. `run` ends only because its signal fires.
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
  /** Key → the bytes that the server sent for an object of the cache, and their sum. */
  #sizes = new Map<Key, number>();
  #bytes = 0;
  /** Why the cache is not as the server has it: that is more than we hold. */
  #excess: LimitExceededError | undefined;
  /** Everything up to here is in the cache; undefined: begin anew. */
  #revision: string | undefined;
  /** When the server last said anything, on the clock that never jumps. */
  #heardAt: number | undefined;
  /** Whether the server begins a watch with what there is; most do, and then no list is needed. */
  #hasWatchList = true;
  /** Whether the server says every minute or so where it is, although nothing changes. */
  #hasBookmarks = false;

  constructor(client: Client, kind: Kind<T>, options: InformerOptions<T, Index> = {}) {
    this.#client = client;
    this.#kind = kind;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#budget = options.budget ?? new ObjectBudget(defaultBudget);
    // A cast for no indexes at all, which is what `Index` says when none are given.
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

  /** Whether the cache was complete once. From then on it is right, if at times late. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** The server sends more than is held, since the cache was last right; undefined: it does not. It is asked again. */
  get excess(): LimitExceededError | undefined {
    return this.#excess;
  }

  /** Milliseconds since the server last sent anything, bookmarks included, see `silenceMs`; undefined: it never did. */
  get silentMs(): number | undefined {
    return this.#heardAt === undefined ? undefined : silenceMs(this.#clock, this.#heardAt);
  }

  /** Resolves when the cache is complete for the first time; rejects when the signal fires before. */
  async synced(signal?: AbortSignal): Promise<void> {
    await unlessAborted(this.#synced.promise, this.#hasSynced ? undefined : signal);
  }

  /** Tells of everything there is as added, then of every change, until the returned function is called. */
  subscribe(handler: Handler<T>): () => void {
    this.#handlers.add(handler);
    for (const object of this.#cache.list()) this.#tellOne(handler, { type: 'added', object });
    return () => void this.#handlers.delete(handler);
  }

  /** Keeps the cache right until the signal fires. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const started = this.#clock.elapsed();
      const end = await this.#follow(signal);
      if (signal.aborted) return;
      // Servers end watches every few minutes; one that ends at once, every time, is not to be asked at full speed.
      const isHealthy =
        !(end.error instanceof LimitExceededError) && (end.told > 0 || this.#clock.elapsed() - started >= shortWatchMs);
      failures = isHealthy ? 0 : failures + 1;
      if (end.error !== undefined) this.#report(end.error);
      if (isHealthy && (end.error === undefined || hasStatusCode(end.error, 410))) continue;
      await sleep(this.#clock, this.#delayMs(end.error, failures), signal);
    }
  }

  #delayMs(error: unknown, failures: number): number {
    const isExcess = error instanceof LimitExceededError;
    const backoff = isExcess ? excessBackoff : (this.#options.backoff ?? defaultBackoff);
    const own = backoffMs(backoff, Math.max(failures, 1), this.#random);
    const asked = error instanceof StatusError ? (error.status.details?.retryAfterSeconds ?? 0) * 1000 : 0;
    return Math.max(own, Math.min(asked, longestRetryAfterMs));
  }

  /** One list or watch, to its end; `told` counts what came after the cache was complete. */
  async #follow(signal: AbortSignal): Promise<{ readonly told: number; readonly error?: unknown }> {
    let told = 0;
    const own = new AbortController();
    const timeoutSeconds = Math.round(300 * (1 + this.#random()));
    const cancel = this.#deadlines(own, timeoutSeconds);
    const scope = AbortSignal.any([signal, own.signal]);
    try {
      if (this.#revision === undefined && !this.#hasWatchList) await this.#list(scope);
      const initial = new Beginning<T>();
      for await (const event of this.#watch(scope, timeoutSeconds)) {
        if (scope.aborted) break;
        if (this.#revision === undefined) this.#collect(initial, event);
        else {
          this.#take(event);
          told++;
        }
      }
      // It ended before it was complete: this server may not know what a complete beginning is.
      if (this.#revision === undefined && !scope.aborted) this.#hasWatchList = false;
      return { told };
    } catch (error) {
      if (signal.aborted) return { told };
      this.#recover(error);
      return { told, error };
    } finally {
      cancel();
    }
  }

  /** Drops a stream that nobody serves any more: it lasts too long, went silent, or its beginning did. */
  #deadlines(own: AbortController, timeoutSeconds: number): () => void {
    const drop = (why: string): 'done' => {
      own.abort(new Error(why));
      return 'done';
    };
    const heard = { clock: this.#clock, heardAt: () => this.#heardAt };
    const cancels = [
      afterPendingReads(this.#clock, (timeoutSeconds + 30) * 1000, () => drop('the watch did not end')),
      // A watch can die without an end. Bookmarks that stop tell; since nobody knows what was missed, and whether the
      // server does, all there is is compared then.
      startWatchdog({ ...heard, longestMs: longestSilenceMs }, () => {
        if (!this.#hasBookmarks) return 'nothing';
        this.#revision = undefined;
        return drop('the watch went silent: everything is compared anew');
      }),
      // Some servers take `sendInitialEvents` for nothing, and never say that the beginning is over: a list is read instead.
      startWatchdog({ ...heard, longestMs: quietBeginningMs }, () => {
        if (this.#revision !== undefined || !this.#hasWatchList) return 'done';
        this.#hasWatchList = false;
        return drop('the watch never said that its beginning was over');
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

  /** What to do differently next time. */
  #recover(error: unknown): void {
    if ([400, 422, 500].some((code) => hasStatusCode(error, code))) {
      // Servers without it refuse it as invalid; Kubernetes over an etcd that cannot tell how far a watch is, as it fails.
      if (this.#revision === undefined) this.#hasWatchList = false;
    }
    // Forgotten by the server, or unreadable to us: only a new beginning helps.
    if (hasStatusCode(error, 410) || error instanceof SyntaxError) this.#revision = undefined;
    if (!(error instanceof LimitExceededError)) return;
    this.#revision = undefined;
    this.#setExcess(error);
    this.#budget.use(this, { objects: this.#sizes.size, bytes: this.#bytes });
  }

  /** Objects of the beginning are kept aside until they are all there: a part of them is nothing to act upon. */
  #collect(initial: Beginning<T>, { type, object, bytes }: WatchEvent<T>): void {
    this.#heardAt = this.#clock.elapsed();
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
    this.#heardAt = this.#clock.elapsed();
    this.#tell(changes);
    this.#setExcess(undefined);
    this.#hasSynced = true;
    this.#synced.resolve();
  }

  #setExcess(excess: LimitExceededError | undefined): void {
    const hasChanged = (excess === undefined) !== (this.#excess === undefined);
    this.#excess = excess;
    if (hasChanged) this.#options.onExcess?.();
  }

  #take({ type, object, bytes }: WatchEvent<T>): void {
    if (type !== 'BOOKMARK') this.#resize(keyOf(object), type === 'DELETED' ? undefined : bytes);
    this.#revision = object.metadata.resourceVersion;
    this.#heardAt = this.#clock.elapsed();
    if (type === 'BOOKMARK') {
      this.#hasBookmarks = true;
      return;
    }
    const trimmed = this.#trimmed(object);
    this.#tell(type === 'DELETED' ? this.#cache.delete(trimmed) : this.#cache.set(trimmed));
  }

  /** Notes the size of an object; undefined: it is gone. Throws when there is too much. */
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

  #tell(changes: readonly Change<T>[]): void {
    // Who subscribes while changes are told sees them in the cache already.
    const handlers = [...this.#handlers];
    for (const change of changes) {
      for (const handler of handlers) if (this.#handlers.has(handler)) this.#tellOne(handler, change);
    }
  }

  #tellOne(handler: Handler<T>, change: Change<T>): void {
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

/** The objects that a watch begins with, and the bytes that the server sent for them. */
class Beginning<T> {
  readonly objects = new Map<Key, T>();
  readonly sizes = new Map<Key, number>();
  bytes = 0;

  /** Notes an object; undefined: it is gone. */
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
/** It costs much to read so much again. */
const excessBackoff: BackoffOptions = { baseMs: 5000, maxMs: 300_000 };
const defaultBackoff: BackoffOptions = { baseMs: 800, maxMs: 30_000 };
const shortWatchMs = 1000;
const quietBeginningMs = 3000;
/** Three bookmarks of Kubernetes, or of ours. */
const longestSilenceMs = 180_000;
const longestRetryAfterMs = 60_000;
