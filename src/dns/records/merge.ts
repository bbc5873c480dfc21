// What all sources say of a name, as one set of records a type.
import type { RecordType, RecordSet } from '../../dnswire/data.ts';
import type { SourceRecord } from './packed.ts';
import { contentOf, distinct, unpackAll } from './packed.ts';

/**
 * Type → its records, each once. Their order depends only on what is said: by rank, then by source, then as the source
 * has them. A set has one TTL (RFC 2181 §5.2), the least that is asked for.
 */
export function merge(said: readonly SourceRecord[]): ReadonlyMap<RecordType, RecordSet> {
  const sets = new Map<RecordType, RecordSet>();
  const ordered = inOrder(said);
  let start = 0;
  while (start < ordered.length) {
    let end = start + 1;
    while (ordered[end]?.stamp.type === ordered[start]?.stamp.type) end++;
    const set = oneSet(ordered.slice(start, end));
    if (set !== undefined) sets.set(set.type, set);
    start = end;
  }
  return sets;
}

/** The records of one type; undefined where there are none. */
function oneSet(said: readonly SourceRecord[]): RecordSet | undefined {
  const [first] = said;
  if (first === undefined || first.stamp.type === 'dynamic') return undefined;
  // What one source says is there once already.
  const data = said.length === 1 ? unpackAll(first) : distinct(said.flatMap(unpackAll));
  if (data.length === 0) return undefined;
  const ttl = Math.min(...said.flatMap((each) => (isEmpty(each) ? [] : each.stamp.ttl)));
  return { owner: first.owner, type: first.stamp.type, ttl, data };
}

/** Who only says that a name exists says nothing of its TTL. */
const isEmpty = ({ data }: SourceRecord): boolean => Array.isArray(data) && data.length === 0;

/** What is said of a name, in the order in which it is merged: one type after the other. */
export function inOrder(said: readonly SourceRecord[]): readonly SourceRecord[] {
  return said.length < 2 ? said : [...said].toSorted(compare);
}

function compare(one: SourceRecord, other: SourceRecord): number {
  const { stamp } = one;
  if (stamp.type !== other.stamp.type) return compareText(stamp.type, other.stamp.type);
  if (stamp.rank !== other.stamp.rank) return stamp.rank - other.stamp.rank;
  if (one.source !== other.source) return compareText(one.source, other.source);
  // A source that says two things of one type at one name: their own text decides, never which came first.
  return compareText(contentOf(one), contentOf(other));
}

const compareText = (one: string, other: string): number => (one < other ? -1 : Number(one > other));
