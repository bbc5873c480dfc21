import type { Name } from '../../dnswire/data.ts';

/** All records of one type at one name, as providers exchange them. */
export interface RecordSet {
  readonly name: Name;
  /** A mnemonic such as `SRV`, or `TYPE65280`. */
  readonly type: string;
  readonly ttl: number;
  /** The data in zone file format, sorted, each once. */
  readonly values: readonly string[];
  /** Settings of the set, where the provider has them: `webhook/NAME` → value. */
  readonly properties?: Properties;
}

/** Settings of a set for its provider. */
export type Properties = Readonly<Record<string, string>>;

/** The types that are published. Sets of other types are read, and never changed. */
export const publishedTypes = ['A', 'AAAA', 'CNAME', 'SRV'] as const;
export type PublishedType = (typeof publishedTypes)[number];

/** Creates a set. */
export const recordSet = (name: Name, type: string, { ttl, values }: Pick<RecordSet, 'ttl' | 'values'>): RecordSet => ({
  name,
  type,
  ttl,
  values: [...new Set(values)].toSorted(),
});

/** Whether two sets have the same records, whatever their TTL. */
export const hasSameValues = (a: RecordSet, b: RecordSet): boolean =>
  a.values.length === b.values.length && a.values.every((value, index) => value === b.values[index]);

/** The content of a zone: name → its sets. */
export type ZoneContent = ReadonlyMap<Name, readonly RecordSet[]>;

/** A set as text, for logs, Events and plans. */
export const printSet = ({ name, type, values }: RecordSet): string => `${type} ${name} ${values.join(', ')}`;
