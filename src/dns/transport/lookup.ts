import type { QueryName } from './query-name.ts';
import {
  slowDescendantsFlag,
  slowTypesFlag,
  bucketBits,
  bucketWord,
  headerWords,
  nameBytes,
  readerStride,
  readerWord,
  tagShift,
  tombstone,
  unitBytes,
  unitMask,
  zoneWord,
} from './layout.ts';

/** How this machine stores words. */
const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** What a thread needs to read a table. */
export interface TableShare {
  readonly buffer: SharedArrayBuffer;
  /** This reader's number; each thread has its own. */
  readonly reader: number;
}

/**
 * Finds blocks in a table that another thread may be changing. Between `begin` and `end` what was found stays as it is.
 * Offsets are in bytes, and index `bytes`, `words` (a quarter) and `halves` (half); 0 is nothing.
 */
export class TableReader {
  readonly #buffer: SharedArrayBuffer;
  readonly #epochWord: number;
  readonly #seed0: number;
  readonly #seed1: number;
  bytes: Uint8Array<SharedArrayBuffer>;
  words: Int32Array<SharedArrayBuffer>;
  halves: Uint16Array<SharedArrayBuffer>;

  constructor({ buffer, reader }: TableShare) {
    this.#buffer = buffer;
    this.#epochWord = readerWord + reader * readerStride;
    this.bytes = new Uint8Array(buffer, 0, buffer.byteLength);
    this.words = new Int32Array(buffer, 0, buffer.byteLength >> 2);
    this.halves = new Uint16Array(buffer, 0, buffer.byteLength >> 1);
    this.#seed0 = this.words[headerWords.seed0] ?? 0;
    this.#seed1 = this.words[headerWords.seed1] ?? 0;
  }

  /** Nothing that can be found from here on is reused before `end`. */
  begin(): void {
    Atomics.store(this.words, this.#epochWord, Atomics.load(this.words, headerWords.epoch));
  }

  end(): void {
    Atomics.store(this.words, this.#epochWord, 0);
  }

  /** The block of a name. */
  find(name: QueryName): number {
    name.prepare(this.#seed0, this.#seed1);
    return this.#find(name, 0);
  }

  /** The block of the closest name that exists above one that `find` did not find. */
  closest(name: QueryName): number {
    // Names deeper than any in the table are not looked for.
    const depth = Atomics.load(this.words, headerWords.depth);
    for (let label = Math.max(1, name.labels - depth); label <= name.labels; label++) {
      const block = this.#find(name, label);
      if (block !== 0) return block;
    }
    return 0;
  }

  #find(name: QueryName, label: number): number {
    const hash = name.hash(label);
    const bucket = Atomics.load(this.words, bucketWord + (hash >>> (32 - bucketBits)));
    if (bucket === 0) return 0;
    const mask = (1 << (bucket >>> tagShift)) - 1;
    const base = (bucket & unitMask) * (unitBytes / 4);
    if (base >= this.words.length) this.#refresh();
    const tag = slotTag(hash);
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const slot = Atomics.load(this.words, base + at);
      if (slot === 0) return 0;
      if (slot >>> tagShift !== tag || slot === tombstone) continue;
      const block = (slot & unitMask) * unitBytes;
      if (this.#isNamed(block, hash, name, label)) return block;
    }
  }

  hasSlowTypes(block: number): boolean {
    return (this.#about(block) & (slowTypesFlag << 8)) !== 0;
  }

  hasSlowDescendants(block: number): boolean {
    return (this.#about(block) & (slowDescendantsFlag << 8)) !== 0;
  }

  /** Which zone a name is in, as a number. */
  zoneNumber(block: number): number {
    return this.#about(block) >>> 16;
  }

  /** The block of the zone that a name is in. */
  zone(block: number): number {
    const zone = Atomics.load(this.words, zoneWord + this.zoneNumber(block)) * unitBytes;
    if (zone >= this.bytes.length) this.#refresh();
    return zone;
  }

  #about(block: number): number {
    return this.words[(block >> 2) + 1] ?? 0;
  }

  #isNamed(block: number, hash: number, name: QueryName, label: number): boolean {
    if (block >= this.bytes.length) this.#refresh();
    const { bytes, words } = this;
    const start = name.starts[label] ?? 0;
    const length = name.length - start;
    if (words[block >> 2] !== hash || ((words[(block >> 2) + 1] ?? 0) & 0xff) !== length) return false;
    // Four bytes at a time, then what is left.
    const firstWord = (block + nameBytes) >> 2;
    const whole = length >> 2;
    for (let word = 0; word < whole; word++) {
      if (words[firstWord + word] !== name.view.getInt32(start + word * 4, isLittleEndian)) return false;
    }
    for (let at = whole * 4; at < length; at++) {
      if (bytes[block + nameBytes + at] !== name.bytes[start + at]) return false;
    }
    return true;
  }

  /** The table has grown. */
  #refresh(): void {
    const size = this.#buffer.byteLength;
    this.bytes = new Uint8Array(this.#buffer, 0, size);
    this.words = new Int32Array(this.#buffer, 0, size >> 2);
    this.halves = new Uint16Array(this.#buffer, 0, size >> 1);
  }
}

/** The bits of a hash that stand in its slot: none of those that chose the bucket, nor of those that chose the slot. */
export const slotTag = (hash: number): number => (hash >>> (32 - bucketBits - 5)) & 31;
