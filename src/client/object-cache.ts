import type { ApiObject } from '../api/metadata.ts';
import type { Key } from './key.ts';
import { keyOf } from './key.ts';

/** Index name → function that returns the index values of an object. */
export type Indexes<T extends ApiObject, Index extends string> = Readonly<
  Record<Index, (object: T) => readonly string[]>
>;

export type Change<T> =
  | { readonly type: 'added'; readonly object: T }
  | { readonly type: 'updated'; readonly object: T; readonly old: T }
  | { readonly type: 'deleted'; readonly object: T };

/** Read access to cached objects. Objects are shared and must not be modified. */
export interface Lister<T extends ApiObject, Index extends string = never> {
  get(key: Key): T | undefined;
  list(): readonly T[];
  /** The objects with this index value. */
  by(index: Index, value: string): readonly T[];
}

/** Objects by key and by indexes. Every write returns the changes that it caused. */
export class ObjectCache<T extends ApiObject, Index extends string = never> implements Lister<T, Index> {
  readonly #objects = new Map<Key, T>();
  readonly #indexes: Indexes<T, Index>;
  /** Index → value → keys. */
  readonly #indexed = new Map<Index, Map<string, Set<Key>>>();

  constructor(indexes: Indexes<T, Index>) {
    this.#indexes = indexes;
    for (const index of this.#names()) this.#indexed.set(index, new Map());
  }

  get(key: Key): T | undefined {
    return this.#objects.get(key);
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  by(index: Index, value: string): readonly T[] {
    const keys = this.#indexed.get(index)?.get(value) ?? [];
    return [...keys].flatMap((key) => this.#objects.get(key) ?? []);
  }

  /** Adds or updates an object. If it was recreated (other UID), returns a deletion and an addition. */
  set(object: T): readonly Change<T>[] {
    const key = keyOf(object);
    const old = this.#objects.get(key);
    if (old === undefined) return [this.#put(key, object)];
    if (old.metadata.uid !== object.metadata.uid) return [...this.delete(old), this.#put(key, object)];
    if (old.metadata.resourceVersion === object.metadata.resourceVersion) return [];
    this.#unindex(key, old);
    this.#put(key, object);
    return [{ type: 'updated', object, old }];
  }

  /** Removes an object; `last` is its last state. */
  delete(last: T): readonly Change<T>[] {
    const key = keyOf(last);
    const old = this.#objects.get(key);
    if (old === undefined) return [];
    this.#objects.delete(key);
    this.#unindex(key, old);
    return [{ type: 'deleted', object: last }];
  }

  /** Replaces all objects. */
  replace(objects: readonly T[]): readonly Change<T>[] {
    const present = new Set(objects.map(keyOf));
    const gone = [...this.#objects].filter(([key]) => !present.has(key));
    return [...gone.flatMap(([, old]) => this.delete(old)), ...objects.flatMap((object) => this.set(object))];
  }

  #put(key: Key, object: T): Change<T> {
    this.#objects.set(key, object);
    for (const [index, value] of this.#entries(object)) {
      const values = this.#indexed.get(index);
      const keys = values?.get(value);
      if (keys === undefined) values?.set(value, new Set([key]));
      else keys.add(key);
    }
    return { type: 'added', object };
  }

  #unindex(key: Key, object: T): void {
    for (const [index, value] of this.#entries(object)) {
      const values = this.#indexed.get(index);
      const keys = values?.get(value);
      keys?.delete(key);
      if (keys?.size === 0) values?.delete(value);
    }
  }

  #entries(object: T): (readonly [Index, string])[] {
    return this.#names().flatMap((index) => this.#indexes[index](object).map((value) => [index, value] as const));
  }

  #names(): Index[] {
    // A cast because Object.keys returns strings.
    return Object.keys(this.#indexes) as Index[];
  }
}
