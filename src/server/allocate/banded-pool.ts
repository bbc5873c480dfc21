import type { NumberSet } from './number-set.ts';
import { numberSet } from './number-set.ts';

/** A source of numbers in [0, 1), such as `Math.random`. */
export type Random = () => number;

/**
 * The size of the static band (KEP-3070, KEP-3668), from which numbers are allocated on request: a share of `size`, at
 * least 16 and at most `most`. A range of up to 16 numbers has none.
 */
export const staticBand = (size: number, share: number, most: number): number =>
  size <= 16 ? 0 : Math.min(Math.max(Math.floor(size / share), 16), most);

/**
 * Allocates numbers in [0, size). Without a request it chooses a random number above the static band, or in the band if
 * the rest is full.
 */
export class BandedPool {
  readonly size: number;
  readonly #band: number;
  readonly #taken: NumberSet;

  constructor(size: number, band: number) {
    this.size = size;
    this.#band = band;
    this.#taken = numberSet(size);
  }

  get used(): number {
    return this.#taken.count;
  }

  has(number: number): boolean {
    return this.#taken.has(number);
  }

  /** Allocates a specific number; false if it is allocated. */
  allocate(number: number): boolean {
    return this.#taken.add(number);
  }

  /** Releases a number; false if it was not allocated. */
  release(number: number): boolean {
    return this.#taken.delete(number);
  }

  /** Allocates any free number; undefined if the pool is full. */
  allocateNext(random: Random): number | undefined {
    const upper = this.#findFree(this.#band, this.size, random);
    const found = upper === -1 ? this.#findFree(0, this.#band, random) : upper;
    if (found === -1) return undefined;
    this.#taken.add(found);
    return found;
  }

  #findFree(from: number, to: number, random: Random): number {
    const start = from + Math.floor(random() * (to - from));
    const found = this.#taken.nextAbsent(start, to);
    return found === -1 ? this.#taken.nextAbsent(from, start) : found;
  }
}
