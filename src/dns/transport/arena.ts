import { arenaStart, headerWords, maxArenaBytes, maxReaders, readerStride, readerWord, unitBytes } from './layout.ts';

/** Sizes of blocks are rounded to two units up to this many, then to a quarter of a power of two. */
const fineUnits = 128;
const smallestGrowth = 256 * 1024;
/** Reclaims retired blocks after this many. */
const reclaimAfter = 256;

/** The rounded size of a block. */
function roundUnits(units: number): number {
  if (units <= fineUnits) return units + (units & 1);
  const step = 2 ** (Math.floor(Math.log2(units)) - 2);
  return Math.ceil(units / step) * step;
}

/**
 * Allocates blocks of memory that other threads read. One thread allocates. A retired block is reused only after every
 * reader that may have seen it has finished: readers publish the epoch in which they began, and retiring starts a new one.
 */
export class Arena {
  readonly buffer: SharedArrayBuffer;
  words: Int32Array<SharedArrayBuffer>;
  bytes: Uint8Array<SharedArrayBuffer>;
  halves: Uint16Array<SharedArrayBuffer>;
  /** Size in units → offsets of free blocks, in units. */
  readonly #free = new Map<number, number[]>();
  /** Retired blocks, oldest first: epoch, offset, units, …. */
  #retired: number[] = [];
  #retiredStart = 0;
  #next = arenaStart / unitBytes;
  #end: number;
  #used = 0;

  /** `maxBytes`: reserved address space; memory is committed as needed. */
  constructor(maxBytes: number = maxArenaBytes) {
    const first = Math.ceil((arenaStart + smallestGrowth) / smallestGrowth) * smallestGrowth;
    this.buffer = new SharedArrayBuffer(first, { maxByteLength: Math.min(maxBytes, maxArenaBytes) });
    this.words = new Int32Array(this.buffer, 0, first / 4);
    this.bytes = new Uint8Array(this.buffer, 0, first);
    this.halves = new Uint16Array(this.buffer, 0, first / 2);
    this.#end = first / unitBytes;
    this.words[headerWords.epoch] = 1;
  }

  /** Bytes in blocks, including retired blocks that readers may still use. */
  get usedBytes(): number {
    return this.#used * unitBytes;
  }

  /** Committed bytes. */
  get heldBytes(): number {
    return this.buffer.byteLength;
  }

  /** Allocates a block; returns its offset in units. Its contents are undefined. */
  allocate(units: number): number {
    const rounded = roundUnits(units);
    const offset = this.#free.get(rounded)?.pop() ?? this.#allocateNew(rounded);
    this.#used += rounded;
    return offset;
  }

  /** Retires a block that no reader can reach any more if it begins now. */
  retire(offset: number, units: number): void {
    const epoch = this.words[headerWords.epoch] ?? 1;
    this.#retired.push(epoch, offset, roundUnits(units));
    // 0 is reserved for idle readers.
    Atomics.store(this.words, headerWords.epoch, (epoch + 1) | 0 || 1);
    if ((this.#retired.length - this.#retiredStart) / 3 >= reclaimAfter) this.#reclaim();
  }

  #allocateNew(rounded: number): number {
    if (this.#next + rounded > this.#end) {
      this.#reclaim();
      const reclaimed = this.#free.get(rounded)?.pop();
      if (reclaimed !== undefined) return reclaimed;
      this.#grow(rounded);
    }
    const offset = this.#next;
    this.#next += rounded;
    return offset;
  }

  #reclaim(): void {
    let at = this.#retiredStart;
    for (; at < this.#retired.length; at += 3) {
      if (!this.#allPassed(this.#retired[at] ?? 0)) break;
      const units = this.#retired[at + 2] ?? 0;
      this.#release(this.#retired[at + 1] ?? 0, units);
      this.#used -= units;
    }
    this.#retiredStart = at;
    if (at < this.#retired.length / 2) return;
    this.#retired = this.#retired.slice(at);
    this.#retiredStart = 0;
  }

  #release(offset: number, units: number): void {
    const list = this.#free.get(units);
    if (list === undefined) this.#free.set(units, [offset]);
    else list.push(offset);
  }

  /** Whether every active reader began after an epoch. */
  #allPassed(epoch: number): boolean {
    for (let reader = 0; reader < maxReaders; reader++) {
      const began = Atomics.load(this.words, readerWord + reader * readerStride);
      if (began !== 0 && ((began - epoch) | 0) <= 0) return false;
    }
    return true;
  }

  /** A block never spans an old end of the buffer, so that a reader whose view contains its start contains all of it. */
  #grow(units: number): void {
    this.#releaseTail();
    const held = this.buffer.byteLength;
    const wanted = held + Math.max(units * unitBytes, smallestGrowth, held >> 3);
    const target = Math.ceil(wanted / smallestGrowth) * smallestGrowth;
    const size = Math.min(target, this.buffer.maxByteLength);
    if (size < held + units * unitBytes) {
      throw new Error(`the DNS table reached its limit of ${held} bytes: serve fewer zones or names`);
    }
    this.buffer.grow(size);
    this.words = new Int32Array(this.buffer, 0, size / 4);
    this.bytes = new Uint8Array(this.buffer, 0, size);
    this.halves = new Uint16Array(this.buffer, 0, size / 2);
    this.#next = held / unitBytes;
    this.#end = size / unitBytes;
  }

  /** Splits the space before the old end into blocks of a common size. */
  #releaseTail(): void {
    const common = 12;
    for (; this.#end - this.#next >= common; this.#next += common) this.#release(this.#next, common);
  }
}
