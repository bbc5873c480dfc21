// Messages between the store and its worker thread. Rows are sent as one flat array: cloning it takes a third of the time
// of an array of objects.

import { crc32 } from 'node:zlib';

/** `id, key, value (null: deleted), created, previous` for each change; see `rowId`. */
export type Rows = (string | number | null)[];

/** The number of elements per row in `Rows`. */
export const rowWidth = 5;

/** Row IDs combine the revision and the index in its commit, which has at most 128 changes. */
export const rowsPerRevision = 128;

/** The row ID of a change. Rows ordered by ID are the log. */
export const rowId = (revision: number, index: number): number => revision * rowsPerRevision + index;

export const revisionOf = (id: number): number => Math.floor(id / rowsPerRevision);

export interface WorkerOptions {
  readonly file: string;
  readonly maxBytes: number | undefined;
  readonly acceptDataLoss: boolean;
  /** Reopens the file of a store that is already in memory. */
  readonly resume?: ResumePoint | undefined;
}

/** Where a store continues after a failure of its file. */
export interface ResumePoint {
  /** The last revision that is durable. */
  readonly revision: number;
  /** The last revision of the failed batch, of which the file may contain a part. */
  readonly attempted: number;
}

export type Request =
  | { readonly type: 'append'; readonly rows: Rows }
  /** Tests whether the file can be written. */
  | { readonly type: 'probe' }
  | { readonly type: 'compact'; readonly revision: number }
  | { readonly type: 'close' };

export type Reply =
  /** Sent while opening: a chunk of rows, in order. */
  | { readonly type: 'loaded'; readonly rows: Rows }
  /** All rows are sent. */
  | Opened
  | { readonly type: 'failed-to-open'; readonly failure: Failure }
  | { readonly type: 'appended' }
  | { readonly type: 'probed' }
  | { readonly type: 'failed-to-append'; readonly failure: Failure }
  /** The file no longer contains rows that only reads before `revision` need. */
  | { readonly type: 'compacted'; readonly revision: number }
  | { readonly type: 'failed-to-compact'; readonly failure: Failure };

/** The state of an opened log, beside its rows. */
export interface Opened {
  readonly type: 'opened';
  /** The last revision in the file. */
  readonly revision: number;
  readonly compacted: number;
  /** Rows that this or an earlier revision replaced are removed. */
  readonly swept: number;
  readonly damaged: readonly DamagedRow[];
  /** Messages for the operator about this opening. */
  readonly notices: readonly Notice[];
}

/** A log line for the operator. */
export interface Notice {
  readonly message: string;
  readonly keys: Readonly<Record<string, string | number>>;
}

/** A row with a wrong checksum; any of its values may be wrong. */
export interface DamagedRow {
  readonly id: number;
  readonly key: string;
  readonly previous: number;
}

/** An error as it is sent between threads. */
export interface Failure {
  /** SQLite's primary result code; undefined for other errors. */
  readonly result: number | undefined;
  readonly message: string;
  /** The affected file, if it is not the store itself. */
  readonly path?: string;
}

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
