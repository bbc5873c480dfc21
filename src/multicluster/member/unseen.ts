import type { ApiObject } from '../../api/metadata.ts';
import type { Clock } from '../../client/clock.ts';
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

/**
 * Our own writes until the cache has them, so that what is decided next starts from what is there and not from what was.
 * It holds what is on its way, no more: what the cache has seen is dropped.
 */
export class Unseen<T extends ApiObject> {
  readonly #clock: Clock;
  readonly #groupOf: (object: T) => string;
  /** Group → key → the last write. */
  readonly #writes = new Map<string, Map<Key, Write<T>>>();

  constructor(clock: Clock, groupOf: (object: T) => string = keyOf) {
    this.#clock = clock;
    this.#groupOf = groupOf;
  }

  /** The object as the server answered a write. */
  wrote(object: T): void {
    this.#note(object, false);
  }

  /** An object that the server has deleted; one with finalizers stays until those are gone. */
  removed(object: T): void {
    if ((object.metadata.finalizers ?? []).length === 0) this.#note(object, true);
  }

  /** The cache has told of an object. */
  saw(object: T, wasRemoved: boolean): void {
    const group = this.#groupOf(object);
    const key = keyOf(object);
    const write = this.#writes.get(group)?.get(key);
    if (write === undefined) return;
    const isOther = write.object.metadata.uid !== object.metadata.uid;
    if (isOther || (write.isRemoval ? wasRemoved : revisionOf(object) >= revisionOf(write.object)))
      this.#drop(group, key);
  }

  /** The objects of a group: those of the cache, with what was written since. */
  latest(group: string, cached: readonly T[]): readonly T[] {
    const writes = this.#writes.get(group);
    if (writes === undefined) return cached;
    const objects = new Map(cached.map((object) => [keyOf(object), object]));
    for (const [key, write] of writes) {
      const there = objects.get(key);
      if (this.#clock.elapsed() - write.atMs > forgottenAfterMs) this.#drop(group, key);
      else if (write.isRemoval) {
        if (there?.metadata.uid === write.object.metadata.uid) objects.delete(key);
      } else if (there === undefined || revisionOf(there) < revisionOf(write.object)) objects.set(key, write.object);
    }
    return [...objects.values()];
  }

  #note(object: T, isRemoval: boolean): void {
    const group = this.#groupOf(object);
    const writes = this.#writes.get(group) ?? new Map<Key, Write<T>>();
    writes.set(keyOf(object), { object, isRemoval, atMs: this.#clock.elapsed() });
    this.#writes.set(group, writes);
  }

  #drop(group: string, key: Key): void {
    const writes = this.#writes.get(group);
    writes?.delete(key);
    if (writes?.size === 0) this.#writes.delete(group);
  }
}

/** Revisions are compared within one object of one server only. */
const revisionOf = ({ metadata }: ApiObject): number => Number(metadata.resourceVersion ?? 0);
