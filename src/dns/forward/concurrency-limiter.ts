/** Places to wait in: so many in all, and so many for one holder. It remembers holders only while they have one. */
export class ConcurrencyLimiter {
  readonly #most: number;
  readonly #mostPerHolder: number;
  /** Holder → seats it has. */
  readonly #holders = new Map<string, number>();
  #taken = 0;

  constructor(most: number, mostPerHolder: number) {
    this.#most = most;
    this.#mostPerHolder = mostPerHolder;
  }

  /** Takes a seat; `full`: there is none, `share`: this one has as many as one may have. */
  enter(holder: string): 'taken' | 'full' | 'share' {
    const own = this.#holders.get(holder) ?? 0;
    if (own >= this.#mostPerHolder) return 'share';
    if (this.#taken >= this.#most) return 'full';
    this.#holders.set(holder, own + 1);
    this.#taken += 1;
    return 'taken';
  }

  /** Gives a seat back. */
  leave(holder: string): void {
    const own = this.#holders.get(holder) ?? 0;
    if (own <= 0) throw new Error(`bug: ${holder} has no seat`);
    if (own === 1) this.#holders.delete(holder);
    else this.#holders.set(holder, own - 1);
    this.#taken -= 1;
  }
}
