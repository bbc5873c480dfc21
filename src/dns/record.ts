import type { Name, RecordData, RecordType } from '../dnswire/data.ts';

/** All records of one type at one name. */
export interface RecordSet {
  readonly owner: Name;
  readonly type: RecordType;
  readonly ttl: number;
  readonly data: readonly RecordData[];
}
