// The messages between the store and its worker thread. Rows travel as one flat array: cloning it costs a third of
// cloning an array of objects.

/** `id, key, value (null: deleted), created, previous` of one change after the other; see `rowId`. */
export type Rows = (string | number | null)[];

/** How many elements of `Rows` make one row. */
export const rowWidth = 5;

/** Rows are numbered by revision, then by place in their commit, which has at most 128. */
const rowsPerRevision = 128;

/** The id of the row of a change: rows in order of their ids are the log. */
export const rowId = (revision: number, index: number): number => revision * rowsPerRevision + index;

/** The revision of the row `id`. */
export const revisionOf = (id: number): number => Math.floor(id / rowsPerRevision);

/** How the worker is started. */
export interface WorkerOptions {
  readonly file: string;
  readonly maxBytes: number | undefined;
  readonly acceptDataLoss: boolean;
  /** The store is in memory already: only the file is to be opened again. */
  readonly resume?: ResumePoint | undefined;
}

/** Where a store goes on after its file failed. */
export interface ResumePoint {
  /** The last revision that is durable. */
  readonly revision: number;
  /** The last revision of the batch that failed: the file may have some of it. */
  readonly attempted: number;
}

export type Request =
  | { readonly type: 'append'; readonly rows: Rows }
  /** Write something that changes nothing. */
  | { readonly type: 'probe' }
  | { readonly type: 'compact'; readonly revision: number }
  | { readonly type: 'close' };

export type Reply =
  /** While opening: the rows of the log in order, in several parts. */
  | { readonly type: 'loaded'; readonly rows: Rows }
  /** Everything is loaded; history is whole after `compacted`. */
  | Opened
  | { readonly type: 'failed-to-open'; readonly failure: Failure }
  | { readonly type: 'appended' }
  | { readonly type: 'probed' }
  | { readonly type: 'failed-to-append'; readonly failure: Failure }
  /** The file no longer has what only revisions before `revision` need. */
  | { readonly type: 'compacted'; readonly revision: number }
  | { readonly type: 'failed-to-compact'; readonly failure: Failure };

/** What is known of the log beside its rows. */
export interface Opened {
  readonly type: 'opened';
  /** The last revision in the file. */
  readonly revision: number;
  readonly compacted: number;
  /** What this revision or an earlier one replaced is gone. */
  readonly swept: number;
  readonly damaged: readonly DamagedRow[];
  /** What an operator should read about this opening. */
  readonly notices: readonly string[];
}

/** A row whose checksum is wrong; all of it may be wrong. */
export interface DamagedRow {
  readonly id: number;
  readonly key: string;
  readonly previous: number;
}

/** An error of SQLite or of ours, as it crosses threads. */
export interface Failure {
  /** SQLite's primary result code; undefined if the error is not SQLite's. */
  readonly result: number | undefined;
  readonly message: string;
  /** The file it is about, when that is not the store itself. */
  readonly path?: string;
}
