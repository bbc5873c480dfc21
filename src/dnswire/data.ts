/**
 * A domain name: lower-case labels separated by dots, without a trailing dot; the root is ''. A dot or backslash inside a
 * label is `\.` or `\\`, any byte outside printable ASCII `\DDD`, so that names are equal if and only if their strings are.
 */
export type Name = string;

/** Types with parsed data; numbers as on the wire. */
export const recordTypes = { A: 1, NS: 2, CNAME: 5, SOA: 6, PTR: 12, TXT: 16, AAAA: 28, SRV: 33 } as const;
export type RecordType = keyof typeof recordTypes;

/** The data of a record, by type. Addresses are canonical text. */
export type RecordData =
  | { readonly type: 'A' | 'AAAA'; readonly address: string }
  | { readonly type: 'NS' | 'CNAME' | 'PTR'; readonly target: Name }
  | {
      readonly type: 'SRV';
      readonly priority: number;
      readonly weight: number;
      readonly port: number;
      readonly target: Name;
    }
  | { readonly type: 'TXT'; readonly text: readonly string[] }
  | SoaData;

export interface SoaData {
  readonly type: 'SOA';
  readonly primary: Name;
  readonly mailbox: Name;
  readonly serial: number;
  readonly refresh: number;
  readonly retry: number;
  readonly expire: number;
  readonly minimum: number;
}

/** All records of one type at one name. */
export interface RecordSet {
  readonly owner: Name;
  readonly type: RecordType;
  readonly ttl: number;
  readonly data: readonly RecordData[];
}
