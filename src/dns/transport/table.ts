import { randomBytes } from 'node:crypto';

import type { AnswerSink, PreparedName, PreparedZone } from '../prepared.ts';
import type { Name } from '../../dnswire/data.ts';
import { encodeName } from '../../dnswire/name.ts';
import { Arena } from './arena.ts';
import { QueryName } from './query-name.ts';
import {
  bucketBits,
  buckets,
  bucketWord,
  headerWords,
  maxReaders,
  maxZones,
  readerStride,
  readerWord,
  tagShift,
  tombstone,
  unitBytes,
  unitMask,
  zoneWord,
} from './layout.ts';
import type { TableShare } from './lookup.ts';
import { slotTag, TableReader } from './lookup.ts';
import { nameBlockBytes, writeName } from './name-block.ts';
import { encodeZone, writeZone } from './zone-block.ts';

/** The index of a reader's epoch. */
const epochWord = (reader: number): number => readerWord + reader * readerStride;
const smallestBucket = 8;

/** The usage of a table. */
export interface TableSize {
  readonly names: number;
  readonly zones: number;
  readonly usedBytes: number;
  readonly heldBytes: number;
}

/**
 * Prepared answers in shared memory that workers read while this thread changes it. A reader finds a name either before or
 * after a change, since a single store publishes it.
 */
export class AnswerTable implements AnswerSink {
  readonly #arena: Arena;
  /** Finds blocks for this thread, which needs no epoch since it alone changes them. */
  readonly #reader: TableReader;
  /** The name being put or deleted. */
  readonly #name = new QueryName();
  /** Apex → number, which never changes since names contain it. */
  readonly #zones = new Map<Name, number>();
  /** Per bucket: slots that are not empty, and slots with a name. */
  readonly #filled = new Uint32Array(buckets);
  readonly #live = new Uint32Array(buckets);
  readonly #readers = new Set<number>();
  #names = 0;

  /** `maxBytes`: the maximum size. */
  constructor(options: { readonly maxBytes?: number } = {}) {
    this.#arena = new Arena(options.maxBytes);
    const seed = randomBytes(8);
    this.#arena.words[headerWords.seed0] = seed.readInt32LE(0);
    this.#arena.words[headerWords.seed1] = seed.readInt32LE(4);
    this.#reader = new TableReader({ buffer: this.#arena.buffer, reader: 0 });
  }

  get size(): TableSize {
    const { usedBytes, heldBytes } = this.#arena;
    return { names: this.#names, zones: this.#zones.size, usedBytes, heldBytes };
  }

  /** Registers a reader. */
  share(): TableShare {
    for (let reader = 0; reader < maxReaders; reader++) {
      if (this.#readers.has(reader)) continue;
      this.#readers.add(reader);
      return { buffer: this.#arena.buffer, reader };
    }
    throw new Error(`a DNS table has at most ${maxReaders} readers: start fewer workers`);
  }

  /** Removes a reader, unless the share is of another table. */
  unshare({ buffer, reader }: TableShare): void {
    if (buffer !== this.#arena.buffer) return;
    this.#readers.delete(reader);
    Atomics.store(this.#arena.words, epochWord(reader), 0);
  }

  putZone(zone: PreparedZone): void {
    const number = this.#zoneNumber(zone.apex);
    const encoded = encodeZone(zone);
    const arena = this.#arena;
    const old = arena.words[zoneWord + number] ?? 0;
    if (old !== 0 && this.#changeSerial(old, encoded, zone.soa.serial)) return;
    const units = Math.ceil(encoded.length / unitBytes);
    const offset = arena.allocate(units);
    writeZone(arena, offset * unitBytes, encoded, zone.soa.serial);
    Atomics.store(arena.words, zoneWord + number, offset);
    if (old !== 0) this.#retireZone(old);
  }

  deleteZone(apex: Name): void {
    const number = this.#zones.get(apex);
    if (number === undefined) return;
    const old = this.#arena.words[zoneWord + number] ?? 0;
    Atomics.store(this.#arena.words, zoneWord + number, 0);
    if (old !== 0) this.#retireZone(old);
  }

  put(prepared: PreparedName): void {
    const name = wireName(prepared.name);
    const slot = this.#slotOf(name);
    const hash = this.#name.hash(0);
    const arena = this.#arena;
    const zone = this.#zoneNumber(prepared.zone);
    const units = Math.ceil(nameBlockBytes(name, prepared.answers) / unitBytes);
    const offset = arena.allocate(units);
    writeName(arena, offset * unitBytes, { prepared, name, hash, zone, units });
    const depth = this.#name.labels;
    if (depth > (arena.words[headerWords.depth] ?? 0)) Atomics.store(arena.words, headerWords.depth, depth);
    const slotValue = (slotTag(hash) << tagShift) | offset | 0;
    if (slot === undefined) this.#insert(hash, slotValue);
    else this.#replace(slot, slotValue);
  }

  delete(nameText: Name): void {
    const slot = this.#slotOf(wireName(nameText));
    if (slot === undefined) return;
    this.#replace(slot, tombstone);
    const bucket = this.#name.hash(0) >>> (32 - bucketBits);
    this.#live[bucket] = (this.#live[bucket] ?? 0) - 1;
    this.#names--;
  }

  #zoneNumber(apex: Name): number {
    const known = this.#zones.get(apex);
    if (known !== undefined) return known;
    if (this.#zones.size === maxZones)
      throw new Error(`a DNS table holds at most ${maxZones} zones: no room for ${apex}`);
    const number = this.#zones.size;
    this.#zones.set(apex, number);
    return number;
  }

  /** The serial changes most often; readers load it atomically, so it is changed in place. */
  #changeSerial(zone: number, encoded: Uint8Array, serial: number): boolean {
    const { bytes, words } = this.#arena;
    const start = zone * unitBytes;
    for (let at = 4; at < encoded.length; at++) if (bytes[start + at] !== encoded[at]) return false;
    Atomics.store(words, start >> 2, serial | 0);
    return true;
  }

  #retireZone(offset: number): void {
    this.#arena.retire(offset, this.#arena.words[offset * (unitBytes / 4) + 2] ?? 0);
  }

  /** The index of the slot of a name; also sets the hash of `#name`. */
  #slotOf(name: Uint8Array): number | undefined {
    this.#name.read(name, 0, name.length);
    const block = this.#reader.find(this.#name);
    if (block === 0) return undefined;
    const hash = this.#name.hash(0);
    const { base, mask } = this.#bucket(hash);
    let at = hash & mask;
    while (((this.#arena.words[base + at] ?? 0) & unitMask) * unitBytes !== block) at = (at + 1) & mask;
    return base + at;
  }

  #bucket(hash: number): { readonly base: number; readonly mask: number } {
    const word = this.#arena.words[bucketWord + (hash >>> (32 - bucketBits))] ?? 0;
    return { base: (word & unitMask) * (unitBytes / 4), mask: (1 << (word >>> tagShift)) - 1 };
  }

  #replace(slot: number, value: number): void {
    const { words } = this.#arena;
    const old = (words[slot] ?? 0) & unitMask;
    Atomics.store(words, slot, value);
    this.#arena.retire(old, (words[old * (unitBytes / 4) + 2] ?? 0) >>> 8);
  }

  #insert(hash: number, value: number): void {
    const bucket = hash >>> (32 - bucketBits);
    const word = this.#arena.words[bucketWord + bucket] ?? 0;
    const slots = word === 0 ? 0 : 1 << (word >>> tagShift);
    if (((this.#filled[bucket] ?? 0) + 1) * 2 > slots) this.#rebuild(bucket);
    const { base, mask } = this.#bucket(hash);
    // Tombstones are not reused: moving a name would take two stores, and a reader could see it twice or not at all.
    let at = hash & mask;
    while (this.#arena.words[base + at] !== 0) at = (at + 1) & mask;
    Atomics.store(this.#arena.words, base + at, value);
    this.#filled[bucket] = (this.#filled[bucket] ?? 0) + 1;
    this.#live[bucket] = (this.#live[bucket] ?? 0) + 1;
    this.#names++;
  }

  /** Replaces the slots of a bucket by new ones, without tombstones and a quarter to half full. */
  #rebuild(bucket: number): void {
    const arena = this.#arena;
    const old = arena.words[bucketWord + bucket] ?? 0;
    const live = this.#live[bucket] ?? 0;
    const bits = Math.ceil(Math.log2(Math.max(smallestBucket, (live + 1) * 3)));
    const size = 2 ** bits;
    const offset = arena.allocate((size * 4) / unitBytes);
    const { words } = arena;
    const base = offset * (unitBytes / 4);
    words.fill(0, base, base + size);
    const oldBase = (old & unitMask) * (unitBytes / 4);
    const oldSize = old === 0 ? 0 : 1 << (old >>> tagShift);
    for (let slot = oldBase; slot < oldBase + oldSize; slot++) {
      const value = words[slot] ?? 0;
      if (value === 0 || value === tombstone) continue;
      let at = (words[(value & unitMask) * (unitBytes / 4)] ?? 0) & (size - 1);
      while (words[base + at] !== 0) at = (at + 1) & (size - 1);
      words[base + at] = value;
    }
    Atomics.store(words, bucketWord + bucket, (bits << tagShift) | offset | 0);
    if (old !== 0) arena.retire(old & unitMask, (oldSize * 4) / unitBytes);
    this.#filled[bucket] = live;
  }
}

function wireName(name: Name): Uint8Array {
  const wire = encodeName(name);
  if (wire === undefined) throw new TypeError(`"${name}" is not a domain name`);
  return wire;
}
