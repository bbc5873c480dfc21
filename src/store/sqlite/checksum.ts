import { crc32 } from 'node:zlib';

/** The checksummed columns of a row of the log. */
export interface CheckedRow {
  readonly id: number;
  readonly key: string;
  /** null: a deletion */
  readonly value: string | null;
  readonly created: number;
  readonly previous: number;
}

/** The checksum of a row. It detects accidental damage, not forgery. */
export const checksumOf = ({ id, key, value, created, previous }: CheckedRow): number =>
  crc32(value ?? '', crc32(`${id} ${created} ${previous} ${value === null ? 'deleted' : 'value'} ${key}`));

/** The checksum of the row of the table `horizon`. */
export const horizonChecksum = (compacted: number, swept: number): number => crc32(`${compacted} ${swept}`);
