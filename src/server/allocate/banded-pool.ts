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

/** A set of whole numbers below a bound, with a search for absent numbers. */
export interface NumberSet {
  /** The number of members. */
  readonly count: number;
  has(number: number): boolean;
  /** Returns false if the set already has the number. */
  add(number: number): boolean;
  /** Returns false if the set does not have the number. */
  delete(number: number): boolean;
  /** The first number in [from, to) that is not in the set, or -1. */
  nextAbsent(from: number, to: number): number;
}

/** The largest set that is a bitmap, of 128 KiB. A larger set keeps only its members. */
const largestBitmap = 2 ** 20;

/** An empty set for numbers in [0, size). */
export const numberSet = (size: number): NumberSet => (size <= largestBitmap ? new Bitmap(size) : new SparseSet());

/** One bit per number. A search tests 32 numbers at a time: about a microsecond for a full /16. */
class Bitmap implements NumberSet {
  readonly #words: Int32Array;
  #count = 0;

  constructor(size: number) {
    this.#words = new Int32Array((size + 31) >>> 5);
  }

  get count(): number {
    return this.#count;
  }

  has(number: number): boolean {
    return (this.#word(number >>> 5) & (1 << (number & 31))) !== 0;
  }

  add(number: number): boolean {
    if (this.has(number)) return false;
    this.#words[number >>> 5] = this.#word(number >>> 5) | (1 << (number & 31));
    this.#count++;
    return true;
  }

  delete(number: number): boolean {
    if (!this.has(number)) return false;
    this.#words[number >>> 5] = this.#word(number >>> 5) & ~(1 << (number & 31));
    this.#count--;
    return true;
  }

  nextAbsent(from: number, to: number): number {
    if (from >= to) return -1;
    let index = from >>> 5;
    let absent = ~this.#word(index) & (-1 << (from & 31));
    const last = (to - 1) >>> 5;
    while (absent === 0 && index < last) absent = ~this.#word(++index);
    if (absent === 0) return -1;
    const number = index * 32 + (31 - Math.clz32(absent & -absent));
    return number < to ? number : -1;
  }

  #word(index: number): number {
    return this.#words[index] ?? 0;
  }
}

/** Keeps only its members. A search takes one step per member it meets; ranges of this size are nearly empty. */
class SparseSet implements NumberSet {
  readonly #members = new Set<number>();

  get count(): number {
    return this.#members.size;
  }

  has(number: number): boolean {
    return this.#members.has(number);
  }

  add(number: number): boolean {
    if (this.#members.has(number)) return false;
    this.#members.add(number);
    return true;
  }

  delete(number: number): boolean {
    return this.#members.delete(number);
  }

  nextAbsent(from: number, to: number): number {
    for (let number = from; number < to; number++) if (!this.#members.has(number)) return number;
    return -1;
  }
}
