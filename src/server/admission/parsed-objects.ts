import type { ApiObject } from '../../api/metadata.ts';
import type { ResourceCache } from '../cache/resource-cache.ts';

/** Parsed objects of a kind. Parses each object once per revision, since the cache keeps bytes and parses them on each read. */
export class ParsedObjects<T> {
  readonly #cache: ResourceCache;
  readonly #parse: (object: ApiObject) => T;
  #parsed = new Map<string, { readonly revision: number; readonly value: T }>();
  #all: readonly T[] = [];
  #readAt = -1;

  constructor(cache: ResourceCache, parse: (object: ApiObject) => T) {
    this.#cache = cache;
    this.#parse = parse;
  }

  /** Whether there is no object: a cheap check for every write. */
  get isEmpty(): boolean {
    return this.#cache.size === 0;
  }

  /** In the order of names. Throws if an object is unreadable: it might deny the write. */
  get all(): readonly T[] {
    const cache = this.#cache;
    cache.requireReadable(cache.prefix);
    if (this.#readAt === cache.lastChangeRevision) return this.#all;
    this.#readAt = cache.lastChangeRevision;
    const before = this.#parsed;
    this.#parsed = new Map(
      cache.range(cache.prefix).map((item) => {
        const known = before.get(item.key);
        const isSame = known?.revision === item.revision;
        return [item.key, isSame ? known : { revision: item.revision, value: this.#parse(item.object) }];
      }),
    );
    this.#all = Array.from(this.#parsed.values(), ({ value }) => value);
    return this.#all;
  }
}
