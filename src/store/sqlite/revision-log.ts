import type { StatementSync } from 'node:sqlite';
import { DatabaseSync } from 'node:sqlite';

import { sqliteResult } from './failures.ts';
import type { Rows } from './protocol.ts';
import { rowId, rowWidth } from './protocol.ts';

const applicationId = 0x46_4c_53_54; // "FLST"
const formatVersion = 1;
const pageBytes = 8192;
/** A commit that fills the write-ahead log also empties it: 5 ms for 4 MB, where 16 MB held everyone up for 18 ms. */
const checkpointPages = 500;

// There is no index by key: a row names the revision of the one it replaces, which is all that compaction has to find.
// An index would touch one random page more for every write, and double what has to be synced.
const schema = `
  CREATE TABLE log (
    id INTEGER PRIMARY KEY,
    revision INTEGER AS (id / 128) VIRTUAL,
    key TEXT NOT NULL,
    value TEXT,
    created INTEGER NOT NULL,
    previous INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE horizon (
    -- History is whole after this revision.
    compacted INTEGER NOT NULL,
    -- What this revision or an earlier one replaced or deleted is gone from the log.
    swept INTEGER NOT NULL
  ) STRICT;
  INSERT INTO horizon VALUES (0, 0);
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${formatVersion};
`;

/** Revisions that one transaction of a sweep looks at, so that commits wait for a few milliseconds at most. */
const sweepRevisions = 250;
/** Free pages are given back to the file system when they are over this many and over a quarter of the file. */
const freePagesKept = 256;

/** The log of all changes in an SQLite file, which no other process can open meanwhile. Every call blocks. */
export class RevisionLog {
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  #compacted = 0;
  #swept = 0;

  /** Opens the log in `file`, or begins one. Throws SQLite's errors, and plain ones for a file that is not ours. */
  constructor(file: string, maxBytes: number | undefined) {
    this.#database = new DatabaseSync(file);
    try {
      this.#prepare(maxBytes);
      const insert = 'INSERT INTO log (id, key, value, created, previous) VALUES (?, ?, ?, ?, ?)';
      this.#insert = this.#database.prepare(insert);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  #prepare(maxBytes: number | undefined): void {
    const database = this.#database;
    // The lock is the operating system's: held from the first read to the end of the process, however it ends.
    database.exec(`
      PRAGMA locking_mode = EXCLUSIVE;
      PRAGMA page_size = ${pageBytes};
      PRAGMA auto_vacuum = INCREMENTAL;
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA wal_autocheckpoint = ${checkpointPages};
      PRAGMA journal_size_limit = ${32 * 1024 * 1024};
      PRAGMA cache_size = -8192;
    `);
    if (maxBytes !== undefined) database.exec(`PRAGMA max_page_count = ${Math.floor(maxBytes / pageBytes)}`);
    database.exec('BEGIN EXCLUSIVE');
    if (this.#pragma('user_version') === 0 && this.#number('SELECT count(*) FROM sqlite_schema') === 0) {
      database.exec(schema);
    }
    database.exec('COMMIT');
    if (this.#pragma('application_id') !== applicationId) throw new Error('it holds something else: move it away');
    const version = this.#pragma('user_version');
    if (version > formatVersion) {
      throw new Error(`it was written by a newer release (format ${version}): use that release or a newer one`);
    }
    this.#checkWhole();
    this.#compacted = this.#number('SELECT compacted FROM horizon');
    this.#swept = this.#number('SELECT swept FROM horizon');
  }

  /** Reads every page, which loading does anyway: 0.5 ms per megabyte to know a torn file before serving from it. */
  #checkWhole(): void {
    const [report] = Object.values(this.#database.prepare('PRAGMA quick_check(1)').get() ?? {});
    if (report === 'ok') return;
    const text = String(report).split('\n').at(-1);
    throw Object.assign(new Error(text), { errcode: sqliteResult.corrupt });
  }

  /** History is whole after this revision. */
  get compacted(): number {
    return this.#compacted;
  }

  /** Whether `sweep` has more to do. */
  get needsSweep(): boolean {
    return this.#swept < this.#compacted;
  }

  /** All rows in order, in parts of `count`. */
  *load(count: number): Generator<Rows> {
    const select = this.#database.prepare('SELECT id, key, value, created, previous FROM log ORDER BY id');
    select.setReturnArrays(true);
    let part: Rows = [];
    for (const row of select.iterate()) {
      // The columns are those of the table, whose types SQLite holds to (STRICT).
      part.push(...(row as unknown as Rows));
      if (part.length < count * rowWidth) continue;
      yield part;
      part = [];
    }
    yield part;
  }

  /** Adds rows, all or none; they are on disk when it returns. */
  append(rows: Rows): void {
    this.#transaction(() => {
      for (let i = 0; i < rows.length; i += rowWidth) {
        this.#insert.run(
          rows[i] ?? null,
          rows[i + 1] ?? null,
          rows[i + 2] ?? null,
          rows[i + 3] ?? null,
          rows[i + 4] ?? null,
        );
      }
    });
  }

  /** Moves the horizon. What it leaves behind is still there until it is swept. */
  compact(revision: number): void {
    if (revision <= this.#compacted) return;
    this.#database.prepare('UPDATE horizon SET compacted = ?').run(revision);
    this.#compacted = revision;
  }

  /** Removes some of what is behind the horizon, in one transaction. */
  sweep(): void {
    const until = Math.min(this.#swept + sweepRevisions, this.#compacted);
    const [first, end] = [rowId(this.#swept + 1, 0), rowId(until + 1, 0)];
    this.#transaction(() => {
      // The plus keeps SQLite from making an index of the whole log just for this.
      this.#database
        .prepare(
          `DELETE FROM log WHERE id IN (
             SELECT old.id FROM log AS new CROSS JOIN log AS old
             WHERE new.id >= ? AND new.id < ? AND new.previous > 0
               AND old.id >= new.previous * 128 AND old.id < (new.previous + 1) * 128 AND +old.key = new.key)`,
        )
        .run(first, end);
      this.#database.prepare('DELETE FROM log WHERE id >= ? AND id < ? AND value IS NULL').run(first, end);
      this.#database.prepare('UPDATE horizon SET swept = ?').run(until);
    });
    this.#swept = until;
  }

  /** Gives some free pages back to the file system, if there are many. Whether to call again. */
  shrink(): boolean {
    if (!this.#hasManyFreePages()) return false;
    this.#database.exec(`PRAGMA incremental_vacuum(${freePagesKept})`);
    if (this.#hasManyFreePages()) return true;
    // The file becomes shorter when the write-ahead log is copied into it.
    this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    return false;
  }

  #hasManyFreePages(): boolean {
    const free = this.#pragma('freelist_count');
    return free > freePagesKept && free * 4 > this.#pragma('page_count');
  }

  close(): void {
    this.#database.close();
  }

  #transaction(work: () => void): void {
    this.#database.exec('BEGIN');
    try {
      work();
      this.#database.exec('COMMIT');
    } catch (error) {
      // SQLite has already rolled back after some errors.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  #pragma(name: string): number {
    return this.#number(`PRAGMA ${name}`);
  }

  #number(query: string): number {
    const [value] = Object.values(this.#database.prepare(query).get() ?? {});
    if (typeof value !== 'number') throw new Error(`it lacks what "${query}" asks for: restore it from a backup`);
    return value;
  }
}
