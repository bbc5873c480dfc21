import type { ApiObject } from '../api/metadata.ts';
import type { Key } from './key.ts';
import { keyOf } from './key.ts';

/** Name → what an object is found by under it. */
export type Indexes<T extends ApiObject, Index extends string> = Readonly<
  Record<Index, (object: T) => readonly string[]>
>;

/** Something that happened to an object. */
export type Change<T> =
  | { readonly type: 'added'; readonly object: T }
  | { readonly type: 'updated'; readonly object: T; readonly old: T }
  | { readonly type: 'deleted'; readonly object: T };

/** What a reader of cached objects can ask. Objects are shared: copy what you change. */
export interface Lister<T extends ApiObject, Index extends string = never> {
  get(key: Key): T | undefined;
  list(): readonly T[];
  /** The objects that an index files under `value`. */
  by(index: Index, value: string): readonly T[];
}

/** Objects by key and by indexes. Every write says what it changed, and nothing when it changed nothing. */
export class ObjectCache<T extends ApiObject, Index extends string = never> implements Lister<T, Index> {
  readonly #objects = new Map<Key, T>();
  readonly #indexes: Indexes<T, Index>;
  /** Index → value → keys. */
  readonly #filed = new Map<Index, Map<string, Set<Key>>>();

  constructor(indexes: Indexes<T, Index>) {
    this.#indexes = indexes;
    for (const index of this.#names()) this.#filed.set(index, new Map());
  }

  get(key: Key): T | undefined {
    return this.#objects.get(key);
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  by(index: Index, value: string): readonly T[] {
    const keys = this.#filed.get(index)?.get(value) ?? [];
    return [...keys].flatMap((key) => this.#objects.get(key) ?? []);
  }

  /** An object as it is now. One that was deleted and made again in between is told as both. */
  set(object: T): readonly Change<T>[] {
    const key = keyOf(object);
    const old = this.#objects.get(key);
    if (old === undefined) return [this.#put(key, object)];
    if (old.metadata.uid !== object.metadata.uid) return [...this.delete(old), this.#put(key, object)];
    if (old.metadata.resourceVersion === object.metadata.resourceVersion) return [];
    this.#unfile(key, old);
    this.#put(key, object);
    return [{ type: 'updated', object, old }];
  }

  /** An object that is gone; `last` is its last state. */
  delete(last: T): readonly Change<T>[] {
    const key = keyOf(last);
    const old = this.#objects.get(key);
    if (old === undefined) return [];
    this.#objects.delete(key);
    this.#unfile(key, old);
    return [{ type: 'deleted', object: last }];
  }

  /** All objects as they are now; whatever else was there is gone. */
  replace(objects: readonly T[]): readonly Change<T>[] {
    const present = new Set(objects.map(keyOf));
    const gone = [...this.#objects].filter(([key]) => !present.has(key));
    return [...gone.flatMap(([, old]) => this.delete(old)), ...objects.flatMap((object) => this.set(object))];
  }

  #put(key: Key, object: T): Change<T> {
    this.#objects.set(key, object);
    for (const [index, value] of this.#entries(object)) {
      const filed = this.#filed.get(index);
      const keys = filed?.get(value);
      if (keys === undefined) filed?.set(value, new Set([key]));
      else keys.add(key);
    }
    return { type: 'added', object };
  }

  #unfile(key: Key, object: T): void {
    for (const [index, value] of this.#entries(object)) {
      const filed = this.#filed.get(index);
      const keys = filed?.get(value);
      keys?.delete(key);
      if (keys?.size === 0) filed?.delete(value);
    }
  }

  #entries(object: T): (readonly [Index, string])[] {
    return this.#names().flatMap((index) => this.#indexes[index](object).map((value) => [index, value] as const));
  }

  #names(): Index[] {
    // A cast that Object.keys asks for: the keys are those that the type names.
    return Object.keys(this.#indexes) as Index[];
  }
}
