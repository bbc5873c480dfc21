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

/** The byte order of this machine. */
const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** Access of a thread to a table. */
export interface TableShare {
  readonly buffer: SharedArrayBuffer;
  /** The number of this reader; each thread has its own. */
  readonly reader: number;
}

/**
 * Finds blocks in a table that another thread may change. Between `begin` and `end` blocks that were found do not change.
 * Offsets are in bytes, and index `bytes`, `words` (divided by 4) and `halves` (by 2); 0 is none.
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

  /** Blocks that can be found from now on are not reused before `end`. */
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

  /** The block of the closest encloser of a name that `find` did not find. */
  closest(name: QueryName): number {
    // Skips suffixes with more labels than any name in the table.
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
      if (this.#hasName(block, hash, name, label)) return block;
    }
  }

  hasSlowTypes(block: number): boolean {
    return (this.#flags(block) & (slowTypesFlag << 8)) !== 0;
  }

  hasSlowDescendants(block: number): boolean {
    return (this.#flags(block) & (slowDescendantsFlag << 8)) !== 0;
  }

  /** The number of the zone of a name. */
  zoneNumber(block: number): number {
    return this.#flags(block) >>> 16;
  }

  /** The block of the zone of a name. */
  zone(block: number): number {
    const zone = Atomics.load(this.words, zoneWord + this.zoneNumber(block)) * unitBytes;
    if (zone >= this.bytes.length) this.#refresh();
    return zone;
  }

  #flags(block: number): number {
    return this.words[(block >> 2) + 1] ?? 0;
  }

  #hasName(block: number, hash: number, name: QueryName, label: number): boolean {
    if (block >= this.bytes.length) this.#refresh();
    const { bytes, words } = this;
    const start = name.starts[label] ?? 0;
    const length = name.length - start;
    if (words[block >> 2] !== hash || ((words[(block >> 2) + 1] ?? 0) & 0xff) !== length) return false;
    // Four bytes at a time, then the rest.
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

  /** Extends the views after the table has grown. */
  #refresh(): void {
    const size = this.#buffer.byteLength;
    this.bytes = new Uint8Array(this.#buffer, 0, size);
    this.words = new Int32Array(this.#buffer, 0, size >> 2);
    this.halves = new Uint16Array(this.#buffer, 0, size >> 1);
  }
}

/** The tag of a slot: bits of the hash that select neither the bucket nor the slot. */
export const slotTag = (hash: number): number => (hash >>> (32 - bucketBits - 5)) & 31;
