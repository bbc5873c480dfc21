import { arenaStart, headerWords, maxArenaBytes, maxReaders, readerStride, readerWord, unitBytes } from './layout.ts';

/** Blocks up to this many units come in steps of two units; larger ones in four steps to the power of two. */
const fineUnits = 128;
const smallestGrowth = 256 * 1024;
/** How many blocks are given up before the readers are looked at. */
const reclaimAfter = 256;

/** How many units a block of at least so many gets. */
function roundUnits(units: number): number {
  if (units <= fineUnits) return units + (units & 1);
  const step = 2 ** (Math.floor(Math.log2(units)) - 2);
  return Math.ceil(units / step) * step;
}

/**
 * Blocks in memory that other threads read. One thread allocates. A block that is given up is used again only when every
 * reader that may have seen it is done: readers say in which epoch they began, and giving up begins a new one.
 */
export class Arena {
  readonly buffer: SharedArrayBuffer;
  words: Int32Array<SharedArrayBuffer>;
  bytes: Uint8Array<SharedArrayBuffer>;
  halves: Uint16Array<SharedArrayBuffer>;
  /** Units of a block → offsets of free blocks that large, in units. */
  readonly #free = new Map<number, number[]>();
  /** Given up, oldest first: epoch, offset, units, …. */
  #retired: number[] = [];
  #retiredStart = 0;
  #next = arenaStart / unitBytes;
  #end: number;
  #used = 0;

  /** `maxBytes`: address space to reserve; memory is taken as it is needed. */
  constructor(maxBytes: number = maxArenaBytes) {
    const first = Math.ceil((arenaStart + smallestGrowth) / smallestGrowth) * smallestGrowth;
    this.buffer = new SharedArrayBuffer(first, { maxByteLength: Math.min(maxBytes, maxArenaBytes) });
    this.words = new Int32Array(this.buffer, 0, first / 4);
    this.bytes = new Uint8Array(this.buffer, 0, first);
    this.halves = new Uint16Array(this.buffer, 0, first / 2);
    this.#end = first / unitBytes;
    this.words[headerWords.epoch] = 1;
  }

  /** Bytes in blocks, those that wait for readers included. */
  get usedBytes(): number {
    return this.#used * unitBytes;
  }

  /** Bytes taken from the system. */
  get heldBytes(): number {
    return this.buffer.byteLength;
  }

  /** The offset, in units, of a block of `roundUnits(units)` units. What is in it is left from before. */
  allocate(units: number): number {
    const rounded = roundUnits(units);
    const offset = this.#free.get(rounded)?.pop() ?? this.#fresh(rounded);
    this.#used += rounded;
    return offset;
  }

  /** Gives a block up that is no longer reachable for a reader that begins now. */
  retire(offset: number, units: number): void {
    const epoch = this.words[headerWords.epoch] ?? 1;
    this.#retired.push(epoch, offset, roundUnits(units));
    // 0 would mean that nobody reads.
    Atomics.store(this.words, headerWords.epoch, (epoch + 1) | 0 || 1);
    if ((this.#retired.length - this.#retiredStart) / 3 >= reclaimAfter) this.#reclaim();
  }

  #fresh(rounded: number): number {
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

  /** Whether every reader began after an epoch ended. */
  #allPassed(epoch: number): boolean {
    for (let reader = 0; reader < maxReaders; reader++) {
      const began = Atomics.load(this.words, readerWord + reader * readerStride);
      if (began !== 0 && ((began - epoch) | 0) <= 0) return false;
    }
    return true;
  }

  /** A block never lies across an old end, so that a reader whose view has its beginning has all of it. */
  #grow(units: number): void {
    this.#releaseRest();
    const held = this.buffer.byteLength;
    const wanted = held + Math.max(units * unitBytes, smallestGrowth, held >> 3);
    const target = Math.ceil(wanted / smallestGrowth) * smallestGrowth;
    const size = Math.min(target, this.buffer.maxByteLength);
    if (size < held + units * unitBytes) {
      throw new Error(`the DNS table is full: ${held} bytes hold as many names as it may; serve fewer zones or names`);
    }
    this.buffer.grow(size);
    this.words = new Int32Array(this.buffer, 0, size / 4);
    this.bytes = new Uint8Array(this.buffer, 0, size);
    this.halves = new Uint16Array(this.buffer, 0, size / 2);
    this.#next = held / unitBytes;
    this.#end = size / unitBytes;
  }

  /** What is left before the end becomes blocks of the sizes that names have. */
  #releaseRest(): void {
    const common = 12;
    for (; this.#end - this.#next >= common; this.#next += common) this.#release(this.#next, common);
  }
}
