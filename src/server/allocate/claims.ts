import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { Change, Entry } from '../../store/store.ts';
import { isClaimOf } from './claim-values.ts';

/** The pool behind a set of claims. A name is the last part of the key of a claim. */
export interface ClaimedPool {
  claim(name: string): void;
  release(name: string): void;
}

/**
 * All claims under one prefix: those in the store, and those that plans reserve until their commit succeeds or fails.
 * The pool marks both as allocated.
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

  /** The claim in the store, as far as its change has arrived here. */
  held(key: string): Entry | undefined {
    return this.#held.get(key);
  }

  /** The stored claims of a Service. */
  of(service: Pick<Service, 'metadata'>): readonly Entry[] {
    return [...this.#held.values()].filter((entry) => isClaimOf(service, entry));
  }

  /** Reserves a key that the pool has just allocated for a plan. */
  reserve(key: string): void {
    this.#reserved.add(key);
  }

  /** Ends a reservation. The pool releases the name unless the store has the claim. */
  drop(key: string): void {
    this.#reserved.delete(key);
    if (!this.#held.has(key)) this.#pool.release(key.slice(this.prefix.length));
  }

  /** Applies changes of the store. */
  apply(changes: readonly Change[]): void {
    for (const { key, entry } of changes) {
      if (entry === undefined) this.#remove(key);
      else this.#add(entry);
    }
  }

  /** Replaces all claims with those in the store. */
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
