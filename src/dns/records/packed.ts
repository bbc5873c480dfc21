// Records as they are kept: a cluster has hundreds of thousands of names with one record each, so that an object for the
// set, an array and an object for the record would cost more than what they say.
import type { Name, RecordData, RecordType, RecordSet } from '../../dnswire/data.ts';

/** A set of records as a source gives it. */
export interface SourceSet extends RecordSet {
  /** Where several sources have records of a type at a name, those of the lowest rank come first; 0 by default. */
  readonly rank?: number;
}

/** An address or a target stands for its record. */
type Item = string | RecordData;
/** The records of a set; one stands for itself. */
export type Packed = Item | readonly Item[];

/** What many sets have in common, so that they share it. */
export interface SharedFields {
  /** `dynamic`: what is below the name is made on demand. */
  readonly type: RecordType | 'dynamic';
  readonly ttl: number;
  readonly rank: number;
}

/** What one source says of one name. */
export interface SourceRecord {
  readonly source: string;
  readonly owner: Name;
  readonly stamp: SharedFields;
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
  throw new Error(`bug: a record of type ${type} is kept as text: ${item}`);
}

/** Keeps the records of a set, each once. */
export function packAll(data: readonly RecordData[]): Packed {
  const items = distinct(data).map(pack);
  const [first] = items;
  return items.length === 1 && first !== undefined ? first : items;
}

/** The records, each once; the same array where none was there twice. */
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
  // The cast tells what Array.isArray does not know of read-only arrays.
  Array.isArray(data) ? (data as readonly Item[]) : [data as Item];

/** The records of a set. */
export const unpackAll = ({ stamp: { type }, data }: SourceRecord): readonly RecordData[] =>
  type === 'dynamic' ? [] : itemsOf(data).map((item) => unpack(type, item));

/** A text that two records of a type share only if they say the same. */
function textOf(record: RecordData): string {
  switch (record.type) {
    case 'A':
    case 'AAAA':
      return record.address;
    case 'NS':
    case 'CNAME':
    case 'PTR':
      return record.target;
    case 'SRV':
      return `${record.priority} ${record.weight} ${record.port} ${record.target}`;
    case 'TXT':
    case 'SOA':
      return JSON.stringify(record);
  }
}

/** A text that two sets of a type share only if they say the same in the same order. */
export const contentOf = (said: SourceRecord): string =>
  typeof said.data === 'string' ? said.data : unpackAll(said).map(textOf).join('\n');

/** The names whose addresses come along with records that lead to them: those of SRV and NS. */
export function targetsOf({ stamp: { type }, data }: SourceRecord): readonly Name[] {
  if (type !== 'SRV' && type !== 'NS') return [];
  return itemsOf(data).flatMap((item) => {
    if (typeof item === 'string') return item;
    return item.type === 'SRV' ? item.target : [];
  });
}
