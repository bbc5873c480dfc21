import { crc32 } from 'node:zlib';

/** The columns of a row of the log that its checksum covers. */
export interface CheckedRow {
  readonly id: number;
  readonly key: string;
  /** null: deleted */
  readonly value: string | null;
  readonly created: number;
  readonly previous: number;
}

/** The checksum of a row: finds damage by disks and people, and is no protection against forgery. */
export const checksumOf = ({ id, key, value, created, previous }: CheckedRow): number =>
  crc32(value ?? '', crc32(`${id} ${created} ${previous} ${value === null ? 'deleted' : 'value'} ${key}`));

/** The checksum of the row of the table `horizon`. */
export const horizonChecksum = (compacted: number, swept: number): number => crc32(`${compacted} ${swept}`);
