import type { NumberSet } from './number-set.ts';
import { numberSet } from './number-set.ts';

/** A source of numbers in [0, 1), such as `Math.random`. */
export type Random = () => number;

/**
 * How many numbers at the start of a range are kept for those who ask for a certain one, as KEP-3070 and KEP-3668
 * have it: a share of `size`, at least 16 and at most `most`; none of a range that is itself not larger than that.
 */
export const staticBand = (size: number, share: number, most: number): number =>
  size <= 16 ? 0 : Math.min(Math.max(Math.floor(size / share), 16), most);

/**
 * Numbers in [0, size) to hand out. Whoever does not care gets a random one from above the static band, and from
 * within it only when nothing else is left.
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

  /** Takes a certain number; false when somebody has it. */
  claim(number: number): boolean {
    return this.#taken.add(number);
  }

  /** Gives a number back; false when nobody had it. */
  release(number: number): boolean {
    return this.#taken.delete(number);
  }

  /** Takes any free number; undefined when there is none. */
  take(random: Random): number | undefined {
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
