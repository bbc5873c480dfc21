import type { ApiObject } from '../../api/metadata.ts';
import type { Clock } from '../../client/clock.ts';
import { silenceMs } from '../../client/clock.ts';
import type { Handler } from '../../client/informer.ts';
import type { Key } from '../../client/key.ts';
import { keyOf } from '../../client/key.ts';

interface Write<T> {
  readonly object: T;
  readonly isRemoval: boolean;
  /** When it was made, on the clock that never jumps. */
  readonly atMs: number;
}

/** What was written and has not come back over the watch: later than any watch comes, something else has happened. */
const forgottenAfterMs = 30_000;

/** Something that a cache tells of an object. */
interface Told<T> {
  readonly object: T;
  readonly wasRemoved: boolean;
  /** Passes it on. */
  readonly pass: () => void;
}

/**
 * Our own writes until the cache has them, so that what is decided next starts from what is there and not from what was.
 * It holds what is on its way, no more: what the cache has seen is dropped. What comes back of them is no news: it was
 * known when it was decided, and to decide again would cost as much as the write.
 */
export class Unseen<T extends ApiObject> {
  readonly #clock: Clock;
  readonly #groupOf: (object: T) => string;
  /** Group → key → the last write. */
  readonly #writes = new Map<string, Map<Key, Write<T>>>();
  /** Key → what was told of an object since a write of it began: whether it is that write, its answer will say. */
  readonly #held = new Map<Key, Told<T>[]>();

  constructor(clock: Clock, groupOf: (object: T) => string = keyOf) {
    this.#clock = clock;
    this.#groupOf = groupOf;
  }

  /** Hands on what a cache tells, but for what we have written ourselves. */
  follow(cache: { subscribe(handler: Required<Handler<T>>): unknown }, handler: Required<Handler<T>>): void {
    cache.subscribe({
      added: (object) => this.#saw({ object, wasRemoved: false, pass: () => handler.added(object) }),
      updated: (object, old) => this.#saw({ object, wasRemoved: false, pass: () => handler.updated(object, old) }),
      deleted: (object) => this.#saw({ object, wasRemoved: true, pass: () => handler.deleted(object) }),
    });
  }

  /** Makes a write that leaves an object as the server answers it, or none: one with finalizers stays until those are gone. */
  async write(object: T, make: () => Promise<T | undefined>): Promise<void> {
    const key = keyOf(object);
    const held: Told<T>[] = [];
    this.#held.set(key, held);
    try {
      const left = await make();
      if (left !== undefined) this.#note(left, false);
      else if ((object.metadata.finalizers ?? []).length === 0) this.#note(object, true);
    } finally {
      this.#held.delete(key);
      for (const told of held) this.#saw(told);
    }
  }

  /** The objects of a group: those of the cache, with what was written since. */
  latest(group: string, cached: readonly T[]): readonly T[] {
    const writes = this.#writes.get(group);
    if (writes === undefined) return cached;
    const objects = new Map(cached.map((object) => [keyOf(object), object]));
    for (const [key, write] of writes) {
      const there = objects.get(key);
      if (silenceMs(this.#clock, write.atMs) > forgottenAfterMs) this.#drop(group, key);
      else if (write.isRemoval) {
        if (there?.metadata.uid === write.object.metadata.uid) objects.delete(key);
      } else if (there === undefined || revisionOf(there) < revisionOf(write.object)) objects.set(key, write.object);
    }
    return [...objects.values()];
  }

  #saw(told: Told<T>): void {
    const group = this.#groupOf(told.object);
    const key = keyOf(told.object);
    const write = this.#writes.get(group)?.get(key);
    if (write !== undefined && isOver(write, told)) this.#drop(group, key);
    if (write !== undefined && isEcho(write, told)) return;
    const held = this.#held.get(key);
    if (held === undefined) told.pass();
    else held.push(told);
  }

  #note(object: T, isRemoval: boolean): void {
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

/** Revisions are compared within one server only. */
const revisionOf = ({ metadata }: ApiObject): number => Number(metadata.resourceVersion ?? 0);

const isSame = (one: ApiObject, other: ApiObject): boolean => one.metadata.uid === other.metadata.uid;

/** Whether the cache knows of a write, or of what came after it. */
const isOver = <T extends ApiObject>({ object, isRemoval }: Write<T>, told: Told<T>): boolean =>
  isRemoval && isSame(object, told.object) ? told.wasRemoved : revisionOf(told.object) >= revisionOf(object);

/** Whether what is told is a write itself. */
const isEcho = <T extends ApiObject>({ object, isRemoval }: Write<T>, told: Told<T>): boolean =>
  isSame(object, told.object) &&
  isRemoval === told.wasRemoved &&
  (isRemoval || revisionOf(object) === revisionOf(told.object));
