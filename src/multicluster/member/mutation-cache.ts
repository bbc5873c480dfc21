import type { ApiObject } from '../../api/metadata.ts';
import type { Clock } from '../../client/clock.ts';
import { silenceMs } from '../../client/clock.ts';
import type { Handler } from '../../client/informer.ts';
import type { Key } from '../../client/key.ts';
import { keyOf } from '../../client/key.ts';

interface Write<T> {
  readonly object: T;
  readonly isRemoval: boolean;
  /** On the monotonic clock. */
  readonly atMs: number;
}

interface CacheEvent<T> {
  readonly object: T;
  readonly isRemoval: boolean;
  /** Calls the handler. */
  readonly handle: () => void;
}

/** Longer than any watch event takes: a write without one is dropped, because something else has happened. */
const expiryMs = 30_000;

/**
 * Adds this controller's own writes to the objects of an informer until the watch delivers them, so that the next reconcile
 * starts from what it wrote (MutationCache of client-go; `Expectations` of src/client would make it wait instead). Events of
 * own writes are not passed on: a reconcile for each would cost as much as the write.
 */
export class MutationCache<T extends ApiObject> {
  readonly #clock: Clock;
  readonly #groupOf: (object: T) => string;
  /** Group → object → its last write. */
  readonly #writes = new Map<string, Map<Key, Write<T>>>();
  /** Object → events since a write of it was sent: the response shows which of them is the write. */
  readonly #held = new Map<Key, CacheEvent<T>[]>();

  /** `groupOf`: the key under which `merged` finds an object; default its own. */
  constructor(clock: Clock, groupOf: (object: T) => string = keyOf) {
    this.#clock = clock;
    this.#groupOf = groupOf;
  }

  /** Passes on the events of a cache except those of own writes. */
  follow(cache: { subscribe(handler: Required<Handler<T>>): unknown }, handler: Required<Handler<T>>): void {
    cache.subscribe({
      added: (object) => this.#observe({ object, isRemoval: false, handle: () => handler.added(object) }),
      updated: (object, old) => this.#observe({ object, isRemoval: false, handle: () => handler.updated(object, old) }),
      deleted: (object) => this.#observe({ object, isRemoval: true, handle: () => handler.deleted(object) }),
    });
  }

  /** Sends a write and records the returned object; undefined: it was deleted, unless it has finalizers. */
  async write(object: T, send: () => Promise<T | undefined>): Promise<void> {
    const key = keyOf(object);
    const held: CacheEvent<T>[] = [];
    this.#held.set(key, held);
    try {
      const written = await send();
      if (written !== undefined) this.#record(written, false);
      else if ((object.metadata.finalizers ?? []).length === 0) this.#record(object, true);
    } finally {
      this.#held.delete(key);
      for (const event of held) this.#observe(event);
    }
  }

  /** The cached objects of a group, with the writes that the cache does not show yet. */
  merged(group: string, cached: readonly T[]): readonly T[] {
    const writes = this.#writes.get(group);
    if (writes === undefined) return cached;
    const objects = new Map(cached.map((object) => [keyOf(object), object]));
    for (const [key, write] of writes) {
      const current = objects.get(key);
      if (silenceMs(this.#clock, write.atMs) > expiryMs) this.#drop(group, key);
      else if (write.isRemoval) {
        if (current?.metadata.uid === write.object.metadata.uid) objects.delete(key);
      } else if (current === undefined || revisionOf(current) < revisionOf(write.object))
        objects.set(key, write.object);
    }
    return [...objects.values()];
  }

  #observe(event: CacheEvent<T>): void {
    const group = this.#groupOf(event.object);
    const key = keyOf(event.object);
    const write = this.#writes.get(group)?.get(key);
    if (write !== undefined && isObserved(write, event)) this.#drop(group, key);
    if (write !== undefined && isOwn(write, event)) return;
    const held = this.#held.get(key);
    if (held === undefined) event.handle();
    else held.push(event);
  }

  #record(object: T, isRemoval: boolean): void {
    const group = this.#groupOf(object);
    const writes = this.#writes.get(group) ?? new Map<Key, Write<T>>();
    this.#writes.set(group, writes.set(keyOf(object), { object, isRemoval, atMs: this.#clock.elapsed() }));
  }

  #drop(group: string, key: Key): void {
    const writes = this.#writes.get(group);
    writes?.delete(key);
    if (writes?.size === 0) this.#writes.delete(group);
  }
}

/** The revision of an object; only comparable within one server. */
export const revisionOf = ({ metadata }: ApiObject): number => Number(metadata.resourceVersion ?? 0);

const isSame = (one: ApiObject, other: ApiObject): boolean => one.metadata.uid === other.metadata.uid;

/** Whether the cache shows a write, or a later state. */
const isObserved = <T extends ApiObject>({ object, isRemoval }: Write<T>, event: CacheEvent<T>): boolean =>
  isRemoval && isSame(object, event.object) ? event.isRemoval : revisionOf(event.object) >= revisionOf(object);

/** Whether an event is the write itself. */
const isOwn = <T extends ApiObject>({ object, isRemoval }: Write<T>, event: CacheEvent<T>): boolean =>
  isSame(object, event.object) &&
  isRemoval === event.isRemoval &&
  (isRemoval || revisionOf(object) === revisionOf(event.object));
