import type { Name, RecordData, RecordType, RecordSet } from '../../dnswire/data.ts';
import type { SourceRecord } from './packed.ts';
import { unpackAll, contentOf, distinct } from './packed.ts';
import type { Zone } from './zone.ts';
import { compareText } from '../../api/order.ts';

/** A name that exists. Without sets it is an empty non-terminal: NODATA for every type. */
export interface ZoneNode {
  readonly name: Name;
  readonly zone: Zone;
  /** Type → its RRset; at an apex the SOA is among them. */
  readonly sets: ReadonlyMap<RecordType, RecordSet>;
  /** Names below are built on demand. */
  readonly dynamic: boolean;
  /** It was built for one query. Its changes are not reported, so it must not be cached. */
  readonly onDemand: boolean;
  /** The sources of its records, sorted; empty for an empty non-terminal. */
  sources(): readonly string[];
  /** The records of a type with duplicates, which are not merged for this. */
  countOf(type: RecordType): number;
  /** The records of each source. */
  explain(): readonly Explanation[];
}

/** The records of one type that one source has at a name. */
export interface Explanation {
  readonly source: string;
  readonly set: RecordSet;
}

/** A name built from source records. Its RRsets are merged when they are first read. */
export class SourcedNode implements ZoneNode {
  readonly name: Name;
  readonly onDemand: boolean;
  readonly #records: readonly SourceRecord[];
  readonly #findZone: () => Zone;
  #zone: Zone | undefined;
  #sets: ReadonlyMap<RecordType, RecordSet> | undefined;

  constructor(
    name: Name,
    records: readonly SourceRecord[],
    { findZone, onDemand = false }: { readonly findZone: () => Zone; readonly onDemand?: boolean },
  ) {
    this.name = name;
    this.onDemand = onDemand;
    this.#records = records;
    this.#findZone = findZone;
  }

  get zone(): Zone {
    this.#zone ??= this.#findZone();
    return this.#zone;
  }

  get sets(): ReadonlyMap<RecordType, RecordSet> {
    this.#sets ??= merge(this.#records);
    return this.#sets;
  }

  get dynamic(): boolean {
    return this.#records.some(({ fields }) => fields.type === 'dynamic');
  }

  sources(): readonly string[] {
    return [...new Set(this.#records.map(({ source }) => source))].toSorted();
  }

  countOf(type: RecordType): number {
    const records = this.#records.filter(({ fields }) => fields.type === type);
    return records.reduce((sum, { data }) => sum + (Array.isArray(data) ? data.length : 1), 0);
  }

  explain(): readonly Explanation[] {
    return inOrder(this.#records).flatMap((record) => {
      const { type, ttl } = record.fields;
      const data = unpackAll(record);
      if (type === 'dynamic' || data.length === 0) return [];
      return [{ source: record.source, set: { owner: record.owner, type, ttl, data } }];
    });
  }
}

/** A zone apex: its source records and the SOA. */
export function withSoa(node: SourcedNode): ZoneNode {
  const { name, zone } = node;
  return {
    name,
    zone,
    sets: new Map([...node.sets, ['SOA', zone.soa()]]),
    dynamic: node.dynamic,
    onDemand: node.onDemand,
    sources: () => node.sources(),
    countOf: (type) => (type === 'SOA' ? 1 : node.countOf(type)),
    explain: () => node.explain(),
  };
}

/**
 * Type → its records without duplicates. Their order depends only on the records: by rank, then by source, then as the
 * source orders them. An RRset has one TTL (RFC 2181 §5.2), the lowest of its sources.
 */
function merge(records: readonly SourceRecord[]): ReadonlyMap<RecordType, RecordSet> {
  const sets = new Map<RecordType, RecordSet>();
  const ordered = inOrder(records);
  let start = 0;
  while (start < ordered.length) {
    let end = start + 1;
    while (ordered[end]?.fields.type === ordered[start]?.fields.type) end++;
    const set = oneSet(ordered.slice(start, end));
    if (set !== undefined) sets.set(set.type, set);
    start = end;
  }
  return sets;
}

/** The RRset of one type, merged when it is first read; undefined if it has no records. */
function oneSet(records: readonly SourceRecord[]): RecordSet | undefined {
  const [first] = records;
  if (first === undefined || first.fields.type === 'dynamic') return undefined;
  if (records.every(isEmpty)) return undefined;
  const ttl = Math.min(...records.flatMap((each) => (isEmpty(each) ? [] : each.fields.ttl)));
  let data: readonly RecordData[] | undefined;
  return {
    owner: first.owner,
    type: first.fields.type,
    ttl,
    get data() {
      // One source has no duplicates.
      data ??= records.length === 1 ? unpackAll(first) : distinct(records.flatMap(unpackAll));
      return data;
    },
  };
}

/** Whether a record only makes its name exist; its TTL does not count. */
const isEmpty = ({ data }: SourceRecord): boolean => Array.isArray(data) && data.length === 0;

/** The source records of a name in merge order: type by type. */
function inOrder(records: readonly SourceRecord[]): readonly SourceRecord[] {
  return records.length < 2 ? records : [...records].toSorted(compare);
}

function compare(one: SourceRecord, other: SourceRecord): number {
  const { fields } = one;
  if (fields.type !== other.fields.type) return compareText(fields.type, other.fields.type);
  if (fields.rank !== other.fields.rank) return fields.rank - other.fields.rank;
  if (one.source !== other.source) return compareText(one.source, other.source);
  // Two sets of one type from one source at one name: ordered by content, never by time.
  return compareText(contentOf(one), contentOf(other));
}
