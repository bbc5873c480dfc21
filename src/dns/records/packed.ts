// Compact storage of records: a cluster has hundreds of thousands of names with one record each, for which objects and
// arrays per set and record would take more memory than the data.
import type { Name, RecordData, RecordType, RecordSet } from '../../dnswire/data.ts';

/** An RRset as a source provides it. */
export interface SourceSet extends RecordSet {
  /** Records of a lower rank come first when several sources have a type at a name; 0 by default. */
  readonly rank?: number;
}

/** A string is the address or target of a record. */
type Item = string | RecordData;
/** The records of a set; a single record is stored without an array. */
export type Packed = Item | readonly Item[];

/** Fields that many sets have in common and share. */
export interface SharedFields {
  /** `dynamic`: names below the owner are built on demand. */
  readonly type: RecordType | 'dynamic';
  readonly ttl: number;
  readonly rank: number;
}

/** A set that one source has at one name. */
export interface SourceRecord {
  readonly source: string;
  readonly owner: Name;
  readonly fields: SharedFields;
  readonly data: Packed;
}

function pack(record: RecordData): Item {
  switch (record.type) {
    case 'A':
    case 'AAAA':
      return record.address;
    case 'NS':
    case 'CNAME':
    case 'PTR':
      return record.target;
    case 'SRV':
    case 'TXT':
    case 'SOA':
      return record;
  }
}

function unpack(type: RecordType, item: Item): RecordData {
  if (typeof item !== 'string') return item;
  if (type === 'A' || type === 'AAAA') return { type, address: item };
  if (type === 'NS' || type === 'CNAME' || type === 'PTR') return { type, target: item };
  throw new Error(`bug: a record of type ${type} is stored as text: ${item}`);
}

/** Packs the records of a set, without duplicates. */
export function packAll(data: readonly RecordData[]): Packed {
  const items = distinct(data).map(pack);
  const [first] = items;
  return items.length === 1 && first !== undefined ? first : items;
}

/** Removes duplicates; returns the same array if there are none. */
export function distinct(data: readonly RecordData[]): readonly RecordData[] {
  if (data.length < 2) return data;
  const seen = new Map<string, RecordData>();
  for (const record of data) {
    const text = textOf(record);
    if (!seen.has(text)) seen.set(text, record);
  }
  return seen.size === data.length ? data : [...seen.values()];
}

const itemsOf = (data: Packed): readonly Item[] =>
  // A cast: Array.isArray does not narrow read-only arrays.
  Array.isArray(data) ? (data as readonly Item[]) : [data as Item];

/** Unpacks the records of a set. */
export const unpackAll = ({ fields: { type }, data }: SourceRecord): readonly RecordData[] =>
  type === 'dynamic' ? [] : itemsOf(data).map((item) => unpack(type, item));

/** Equal for two records of a type only if they have the same data. */
function textOf(record: RecordData): string {
  const item = pack(record);
  if (typeof item === 'string') return item;
  return item.type === 'SRV' ? `${item.priority} ${item.weight} ${item.port} ${item.target}` : JSON.stringify(item);
}

/** Equal for two sets of a type only if they have the same records in the same order. */
export const contentOf = (record: SourceRecord): string =>
  typeof record.data === 'string' ? record.data : unpackAll(record).map(textOf).join('\n');

/** The targets whose addresses belong in the additional section: those of SRV and NS. */
export function targetsOf({ fields: { type }, data }: SourceRecord): readonly Name[] {
  if (type !== 'SRV' && type !== 'NS') return [];
  return itemsOf(data).flatMap((item) => {
    if (typeof item === 'string') return item;
    return item.type === 'SRV' ? item.target : [];
  });
}
