// What one source says, kept small: a cluster has hundreds of thousands of names with one record each.
import type { Name } from '../../dnswire/data.ts';
import type { Packed, SourceRecord, SharedFields } from './packed.ts';
import { contentOf } from './packed.ts';

/** What one source says at present, sorted by name. */
export class SourceRecords {
  readonly source: string;
  #owners: readonly Name[] = [];
  #stamps: readonly SharedFields[] = [];
  #data: readonly Packed[] = [];

  constructor(source: string) {
    this.source = source;
  }

  /** Says something else from now on, sorted by `compareSaid`. */
  replace(said: readonly SourceRecord[]): void {
    this.#owners = said.map(({ owner }) => owner);
    this.#stamps = said.map(({ stamp }) => stamp);
    this.#data = said.map(({ data }) => data);
  }

  get size(): number {
    return this.#owners.length;
  }

  /** What is said at a place, from 0 up to `size`. */
  at(index: number): SourceRecord {
    const owner = this.#owners[index];
    const stamp = this.#stamps[index];
    const data = this.#data[index];
    if (owner === undefined || stamp === undefined || data === undefined) {
      throw new Error(`bug: ${this.source} says ${this.size} things, and not one at ${index}`);
    }
    return { source: this.source, owner, stamp, data };
  }

  /** What is said of a name. */
  of(name: Name): readonly SourceRecord[] {
    const found: SourceRecord[] = [];
    for (let index = this.#first(name); this.#owners[index] === name; index++) found.push(this.at(index));
    return found;
  }

  /** Whether anything is said of a name. */
  has(name: Name): boolean {
    return this.#owners[this.#first(name)] === name;
  }

  /** The first place whose name is not before this one. */
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

/** Orders what is said by name; two things of one name by what they are, so that the same come together. */
export function compareSourceRecords(one: SourceRecord, other: SourceRecord): number {
  if (one.owner !== other.owner) return one.owner < other.owner ? -1 : 1;
  const { stamp } = one;
  if (stamp.type !== other.stamp.type) return stamp.type < other.stamp.type ? -1 : 1;
  if (stamp.ttl !== other.stamp.ttl) return stamp.ttl - other.stamp.ttl;
  if (stamp.rank !== other.stamp.rank) return stamp.rank - other.stamp.rank;
  if (one.data === other.data) return 0;
  const content = contentOf(one);
  const others = contentOf(other);
  return content < others ? -1 : Number(content > others);
}

/** What came of a source that says something else now. */
export interface Difference {
  /** All that is said from now on, each thing once; of what was said before, what is kept. */
  readonly now: readonly SourceRecord[];
  readonly added: readonly SourceRecord[];
  readonly removed: readonly SourceRecord[];
}

/** Compares what is said with what shall be, which must be sorted by `compareSaid`. */
export function difference(before: SourceRecords, after: readonly SourceRecord[]): Difference {
  const now: SourceRecord[] = [];
  const added: SourceRecord[] = [];
  const removed: SourceRecord[] = [];
  let index = 0;
  for (const said of after) {
    const previous = now.at(-1);
    if (previous !== undefined && compareSourceRecords(previous, said) === 0) continue;
    let order = index < before.size ? compareSourceRecords(before.at(index), said) : 1;
    while (order < 0) {
      removed.push(before.at(index++));
      order = index < before.size ? compareSourceRecords(before.at(index), said) : 1;
    }
    if (order > 0) added.push(said);
    now.push(order === 0 ? before.at(index++) : said);
  }
  while (index < before.size) removed.push(before.at(index++));
  return { now, added, removed };
}
