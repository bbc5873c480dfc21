// Storage of the records of one source.
import type { Name } from '../../dnswire/data.ts';
import type { Packed, SourceRecord, SharedFields } from './packed.ts';
import { contentOf } from './packed.ts';

/** The records of one source, sorted by name. */
export class SourceRecords {
  readonly source: string;
  #owners: readonly Name[] = [];
  #fields: readonly SharedFields[] = [];
  #data: readonly Packed[] = [];

  constructor(source: string) {
    this.source = source;
  }

  /** Replaces the records; they must be sorted by `compareSourceRecords`. */
  replace(records: readonly SourceRecord[]): void {
    this.#owners = records.map(({ owner }) => owner);
    this.#fields = records.map(({ fields }) => fields);
    this.#data = records.map(({ data }) => data);
  }

  get size(): number {
    return this.#owners.length;
  }

  /** The record at an index, from 0 up to `size`. */
  at(index: number): SourceRecord {
    const owner = this.#owners[index];
    const fields = this.#fields[index];
    const data = this.#data[index];
    if (owner === undefined || fields === undefined || data === undefined) {
      throw new Error(`bug: ${this.source} has ${this.size} records, and none at ${index}`);
    }
    return { source: this.source, owner, fields, data };
  }

  /** The records of a name. */
  of(name: Name): readonly SourceRecord[] {
    const found: SourceRecord[] = [];
    for (let index = this.#first(name); this.#owners[index] === name; index++) found.push(this.at(index));
    return found;
  }

  /** Whether it has records of a name. */
  has(name: Name): boolean {
    return this.#owners[this.#first(name)] === name;
  }

  /** The index of the first name that is not before this one. */
  #first(name: Name): number {
    let low = 0;
    let high = this.#owners.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#owners[middle] ?? '') < name) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Orders by name, then by content, so that equal records are adjacent. */
export function compareSourceRecords(one: SourceRecord, other: SourceRecord): number {
  if (one.owner !== other.owner) return one.owner < other.owner ? -1 : 1;
  const { fields } = one;
  if (fields.type !== other.fields.type) return fields.type < other.fields.type ? -1 : 1;
  if (fields.ttl !== other.fields.ttl) return fields.ttl - other.fields.ttl;
  if (fields.rank !== other.fields.rank) return fields.rank - other.fields.rank;
  if (one.data === other.data) return 0;
  const oneContent = contentOf(one);
  const otherContent = contentOf(other);
  return oneContent < otherContent ? -1 : Number(oneContent > otherContent);
}

/** The difference between old and new records of a source. */
export interface Difference {
  /** All new records without duplicates; unchanged ones are the old objects. */
  readonly now: readonly SourceRecord[];
  readonly added: readonly SourceRecord[];
  readonly removed: readonly SourceRecord[];
}

/** Compares the records of a source with new ones, which must be sorted by `compareSourceRecords`. */
export function difference(before: SourceRecords, after: readonly SourceRecord[]): Difference {
  const now: SourceRecord[] = [];
  const added: SourceRecord[] = [];
  const removed: SourceRecord[] = [];
  let index = 0;
  for (const record of after) {
    const previous = now.at(-1);
    if (previous !== undefined && compareSourceRecords(previous, record) === 0) continue;
    let order = index < before.size ? compareSourceRecords(before.at(index), record) : 1;
    while (order < 0) {
      removed.push(before.at(index++));
      order = index < before.size ? compareSourceRecords(before.at(index), record) : 1;
    }
    if (order > 0) added.push(record);
    now.push(order === 0 ? before.at(index++) : record);
  }
  while (index < before.size) removed.push(before.at(index++));
  return { now, added, removed };
}
