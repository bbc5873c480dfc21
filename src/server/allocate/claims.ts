import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { Change, Entry } from '../../store/store.ts';
import { isClaimOf } from './claim-values.ts';

/** The pool that hands out what is claimed, told of every claim by the last part of its key. */
export interface ClaimedPool {
  claim(name: string): void;
  release(name: string): void;
}

/**
 * All claims under one prefix: those that are in the store, and those that plans have reserved until their commit is
 * decided. The pool always has both marked as taken.
 */
export class Claims {
  readonly prefix: string;
  readonly #pool: ClaimedPool;
  readonly #held = new Map<string, Entry>(); // key → claim in the store
  readonly #reserved = new Set<string>(); // keys

  constructor(prefix: string, pool: ClaimedPool) {
    this.prefix = prefix;
    this.#pool = pool;
  }

  /** The claim as the store has it, as far as it is known here. */
  held(key: string): Entry | undefined {
    return this.#held.get(key);
  }

  /** The claims of a Service that are in the store. */
  of(service: Pick<Service, 'metadata'>): readonly Entry[] {
    return [...this.#held.values()].filter((entry) => isClaimOf(service, entry));
  }

  /** Keeps what the pool has just given out for a plan. */
  reserve(key: string): void {
    this.#reserved.add(key);
  }

  /** Ends a reservation: from now on only the store's claim counts. */
  drop(key: string): void {
    this.#reserved.delete(key);
    if (!this.#held.has(key)) this.#pool.release(key.slice(this.prefix.length));
  }

  /** Takes over what has changed in the store. */
  apply(changes: readonly Change[]): void {
    for (const { key, entry } of changes) {
      if (entry === undefined) this.#remove(key);
      else this.#add(entry);
    }
  }

  /** Takes over everything there is in the store. */
  replace(entries: readonly Entry[]): void {
    const keys = new Set(entries.map(({ key }) => key));
    for (const key of this.#held.keys()) if (!keys.has(key)) this.#remove(key);
    for (const entry of entries) this.#add(entry);
  }

  #add(entry: Entry): void {
    this.#held.set(entry.key, entry);
    this.#pool.claim(entry.key.slice(this.prefix.length));
  }

  #remove(key: string): void {
    this.#held.delete(key);
    if (!this.#reserved.has(key)) this.#pool.release(key.slice(this.prefix.length));
  }
}
