/** Limits concurrency in total and per key. Stores only keys in use. */
export class ConcurrencyLimiter {
  readonly #limit: number;
  readonly #limitPerKey: number;
  /** Key → slots in use. */
  readonly #used = new Map<string, number>();
  #total = 0;

  constructor(limit: number, limitPerKey: number) {
    this.#limit = limit;
    this.#limitPerKey = limitPerKey;
  }

  /** Acquires a slot. `full`: the total limit is reached; `key-full`: that of the key. */
  acquire(key: string): 'acquired' | 'full' | 'key-full' {
    const own = this.#used.get(key) ?? 0;
    if (own >= this.#limitPerKey) return 'key-full';
    if (this.#total >= this.#limit) return 'full';
    this.#used.set(key, own + 1);
    this.#total += 1;
    return 'acquired';
  }

  /** Releases a slot. */
  release(key: string): void {
    const own = this.#used.get(key) ?? 0;
    if (own <= 0) throw new Error(`bug: ${key} has no slot`);
    if (own === 1) this.#used.delete(key);
    else this.#used.set(key, own - 1);
    this.#total -= 1;
  }
}
