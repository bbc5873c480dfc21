// What all sources say of a name, as one set of records a type.
import type { Name, RecordData, RecordSet, RecordType } from '../record.ts';
import type { Said } from './packed.ts';
import { contentOf, textOf, unpackAll } from './packed.ts';

/**
 * Type → its records, each once. Their order depends only on what is said: by rank, then by source, then as the source
 * has them. A set has one TTL (RFC 2181 §5.2), the least that is asked for.
 */
export function merge(said: readonly Said[]): ReadonlyMap<RecordType, RecordSet> {
  const collected = new Map<RecordType, { owner: Name; ttl: number; data: RecordData[] }>();
  for (const each of inOrder(said)) {
    const { type, ttl } = each.stamp;
    const data = unpackAll(each);
    if (type === 'dynamic' || data.length === 0) continue;
    const set = collected.get(type);
    if (set === undefined) collected.set(type, { owner: each.owner, ttl, data: [...data] });
    else {
      set.ttl = Math.min(set.ttl, ttl);
      for (const record of data) set.data.push(record);
    }
  }
  const sets = new Map<RecordType, RecordSet>();
  for (const [type, { owner, ttl, data }] of collected) sets.set(type, { owner, type, ttl, data: distinct(data) });
  return sets;
}

/** What is said of a name, in the order in which it is merged: one type after the other. */
export function inOrder(said: readonly Said[]): readonly Said[] {
  return said.length < 2 ? said : [...said].toSorted(compare);
}

function compare(one: Said, other: Said): number {
  const { stamp } = one;
  if (stamp.type !== other.stamp.type) return compareText(stamp.type, other.stamp.type);
  if (stamp.rank !== other.stamp.rank) return stamp.rank - other.stamp.rank;
  if (one.source !== other.source) return compareText(one.source, other.source);
  // A source that says two things of one type at one name: their own text decides, never which came first.
  return compareText(contentOf(one), contentOf(other));
}

const compareText = (one: string, other: string): number => (one < other ? -1 : Number(one > other));

function distinct(data: readonly RecordData[]): readonly RecordData[] {
  if (data.length < 2) return data;
  const seen = new Map<string, RecordData>();
  for (const record of data) {
    const text = textOf(record);
    if (!seen.has(text)) seen.set(text, record);
  }
  return seen.size === data.length ? data : [...seen.values()];
}
