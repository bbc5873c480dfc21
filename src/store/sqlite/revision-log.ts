import type { StatementSync } from 'node:sqlite';
import { DatabaseSync } from 'node:sqlite';

import { checksumOf, horizonChecksum, revisionOf, rowId, rowWidth } from './protocol.ts';
import { rewriteDatabase } from './copy.ts';
import { sqliteResult } from './failures.ts';
import { readHighestRevision } from './highest-revision.ts';
import { backupFile, migrateFromFormat1 } from './migrate.ts';
import type { DamagedRow, Notice, ResumePoint, Rows, WorkerOptions } from './protocol.ts';

const applicationId = 0x46_4c_53_54; // "FLST"
const formatVersion = 2;
const pageBytes = 8192;
/** The size at which a commit checkpoints the write-ahead log: 5 ms for 4 MB; 16 MB blocked commits for 18 ms. */
const checkpointPages = 500;

// There is no index by key: a row has the revision that it replaces, which is enough for compaction. An index would touch
// one more random page per write and double the synced data.
const schema = `
  CREATE TABLE log (
    id INTEGER PRIMARY KEY,
    revision INTEGER AS (id / 128) VIRTUAL,
    key TEXT NOT NULL,
    value TEXT,
    created INTEGER NOT NULL,
    previous INTEGER NOT NULL,
    checksum INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE horizon (
    -- History is complete after this revision.
    compacted INTEGER NOT NULL,
    -- Rows that this or an earlier revision replaced or deleted are removed from the log.
    swept INTEGER NOT NULL,
    checksum INTEGER NOT NULL
  ) STRICT;
  INSERT INTO horizon VALUES (0, 0, ${horizonChecksum(0, 0)});
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${formatVersion};
`;

type CheckedColumns = [id: number, key: string, value: string | null, created: number, previous: number];
type LogRow = [...CheckedColumns, checksum: number];

/** The columns that link the rows of a key. */
interface LinkedRow extends DamagedRow {
  /** 0 or 1 */
  readonly isDeletion: number;
}

/** The number of revisions per sweep transaction, so that commits wait for a few milliseconds at most. */
const sweepRevisions = 250;
/**
 * After an accepted loss, revisions continue this far after the highest known one, so that no revision that a client has
 * seen is reused: more than one second of writes, by which the highest known revision may be behind.
 */
const revisionsSkipped = 1_000_000;
/** Free pages are released when there are more than this and more than a quarter of the file. */
const freePagesKept = 256;

/** The log of all changes in an SQLite file, which it locks. All calls block. */
export class RevisionLog {
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #setHorizon: StatementSync;
  /** Messages for the operator about this opening. */
  readonly notices: Notice[] = [];
  readonly damaged: DamagedRow[] = [];
  #compacted = 0;
  #swept = 0;

  /** Opens or creates the log. Throws errors of SQLite, and plain errors for an unusable file. */
  constructor(options: WorkerOptions) {
    const { file, resume } = options;
    if (resume !== undefined) rewriteDatabase(file);
    this.#database = new DatabaseSync(file);
    try {
      this.#prepare(options);
      const insert = 'INSERT INTO log (id, key, value, created, previous, checksum) VALUES (?, ?, ?, ?, ?, ?)';
      this.#insert = this.#database.prepare(insert);
      this.#setHorizon = this.#database.prepare('UPDATE horizon SET compacted = ?, swept = ?, checksum = ?');
      if (resume === undefined) this.#checkLoss(options);
      else this.#resume(resume);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  #prepare({ file, maxBytes, resume }: WorkerOptions): void {
    const database = this.#database;
    // The operating system holds the lock until the process ends.
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
    const isNew = this.#pragma('user_version') === 0 && this.#number('SELECT count(*) FROM sqlite_schema') === 0;
    if (isNew && resume === undefined) database.exec(schema);
    database.exec('COMMIT');
    if (this.#pragma('application_id') !== applicationId) throw new Error('it holds something else: move it away');
    const version = this.#pragma('user_version');
    if (version > formatVersion) {
      throw new Error(`it was written by a newer release (format ${version}): use that release or a newer one`);
    }
    this.#checkIntegrity();
    if (version < formatVersion) {
      migrateFromFormat1(database, file);
      this.notices.push({ message: 'migrated the store', keys: { file, backup: backupFile(file, version) } });
    }
    this.#readHorizon();
  }

  #readHorizon(): void {
    const [compacted, swept, checksum] = ['compacted', 'swept', 'checksum'].map((column) =>
      this.#number(`SELECT ${column} FROM horizon`),
    );
    [this.#compacted, this.#swept] = [compacted ?? 0, swept ?? 0];
    // Without a valid horizon, only the last state is known to be complete.
    if (checksum !== horizonChecksum(this.#compacted, this.#swept)) [this.#compacted, this.#swept] = [this.#last(), 0];
  }

  /** The last revision in the file. */
  get revision(): number {
    return Math.max(1, this.#compacted, this.#last());
  }

  #last(): number {
    return revisionOf(this.#number('SELECT coalesce(max(id), 0) FROM log'));
  }

  /** Rejects a store below its highest known revision, or moves it past that revision. */
  #checkLoss({ file, acceptDataLoss }: WorkerOptions): void {
    const highest = readHighestRevision(file) ?? 0;
    const { revision } = this;
    if (highest <= revision) return;
    if (!acceptDataLoss) {
      throw new Error(
        `it has lost acknowledged writes: it ends at revision ${revision} and had reached ${highest}. Restore the file ` +
          'and its -wal, or start once with --accept-data-loss to continue without them',
      );
    }
    const next = highest + revisionsSkipped;
    this.#moveHorizon(next, this.#swept);
    this.notices.push({
      message: 'accepted the loss of writes',
      keys: { file, lostAfter: revision, continuesAt: next },
    });
  }

  /** Continues after a failure: removes unacknowledged writes; acknowledged ones must exist. */
  #resume({ revision, attempted }: ResumePoint): void {
    if (this.revision < revision || this.revision > Math.max(revision, attempted)) {
      throw new Error(`it ends at revision ${this.revision} and not ${revision}: it was replaced; restart to use it`);
    }
    this.#database.prepare('DELETE FROM log WHERE id >= ?').run(rowId(revision + 1, 0));
  }

  /** Reads every page, as loading does: 0.5 ms per megabyte to detect a torn file before serving from it. */
  #checkIntegrity(): void {
    const [report] = Object.values(this.#database.prepare('PRAGMA quick_check(1)').get() ?? {});
    if (report === 'ok') return;
    const text = String(report).split('\n').at(-1);
    throw Object.assign(new Error(text), { errcode: sqliteResult.corrupt });
  }

  /** History is complete after this revision. */
  get compacted(): number {
    return this.#compacted;
  }

  /** Rows that this or an earlier revision replaced or deleted are removed. */
  get swept(): number {
    return this.#swept;
  }

  /** Whether `sweep` has more to do. */
  get needsSweep(): boolean {
    return this.#swept < this.#compacted;
  }

  /** All rows in order, in chunks of `count`. Rows with a wrong checksum are in `damaged` instead. */
  *load(count: number): Generator<Rows> {
    const select = this.#database.prepare('SELECT id, key, value, created, previous, checksum FROM log ORDER BY id');
    select.setReturnArrays(true);
    const damaged: DamagedRow[] = [];
    let part: Rows = [];
    for (const row of select.iterate()) {
      // STRICT tables guarantee the column types, and the integrity check has verified them.
      const [id, key, value, created, previous, checksum] = row as unknown as LogRow;
      if (checksumOf({ id, key, value, created, previous }) !== checksum) {
        damaged.push({ id, key, previous });
        continue;
      }
      part.push(id, key, value, created, previous);
      if (part.length < count * rowWidth) continue;
      yield part;
      part = [];
    }
    this.damaged.push(...this.#attributed(damaged));
    yield part;
  }

  /**
   * Decides which keys damaged rows make unreadable. The key of a damaged row may be wrong and belong to another object. It
   * is right if the rows of that key link to this one; otherwise the row is reported under a name of its own.
   */
  #attributed(damaged: readonly DamagedRow[]): readonly DamagedRow[] {
    if (damaged.length === 0) return [];
    const keys = JSON.stringify(damaged.map(({ key }) => key));
    const select =
      'SELECT id, key, value IS NULL AS isDeletion, previous FROM log WHERE key IN (SELECT value FROM json_each(?))';
    const rows = this.#database.prepare(`${select} ORDER BY id`).all(keys) as unknown as readonly LinkedRow[];
    const rowsOf = Map.groupBy(rows, ({ key }) => key);
    return damaged.flatMap((row) => attribute(row, rowsOf.get(row.key) ?? [], this.#swept));
  }

  /** Appends rows atomically; they are durable when it returns. */
  append(rows: Rows): void {
    this.#transaction(() => {
      for (let i = 0; i < rows.length; i += rowWidth) {
        // The main thread sends five values per row.
        const [id, key, value, created, previous] = rows.slice(i, i + rowWidth) as CheckedColumns;
        this.#insert.run(id, key, value, created, previous, checksumOf({ id, key, value, created, previous }));
        if (this.damaged.length > 0) this.#repair(id, key);
      }
    });
  }

  /**
   * Removes the damaged record of a written key, and the rows that it may have replaced. A row that also makes another key
   * unreadable remains until that key is written.
   */
  #repair(before: number, key: string): void {
    const repaired = this.damaged.filter((row) => row.key === key).map(({ id }) => id);
    if (repaired.length === 0) return;
    const ids = repaired.filter((id) => this.damaged.every((row) => row.id !== id || row.key === key));
    this.#database
      .prepare('DELETE FROM log WHERE (key = ? AND id < ?) OR id IN (SELECT value FROM json_each(?))')
      .run(key, before, JSON.stringify(ids));
  }

  /** Moves the horizon. Rows behind it remain until they are swept. */
  compact(revision: number): void {
    if (revision > this.#compacted) this.#moveHorizon(revision, this.#swept);
  }

  /** Tests whether the file can be written, with a write that changes nothing. */
  probe(): void {
    this.#moveHorizon(this.#compacted, this.#swept);
  }

  #moveHorizon(compacted: number, swept: number): void {
    this.#setHorizon.run(compacted, swept, horizonChecksum(compacted, swept));
    [this.#compacted, this.#swept] = [compacted, swept];
  }

  /** Removes some rows behind the horizon in one transaction. */
  sweep(): void {
    const next = this.#number(`SELECT coalesce(min(id), 0) FROM log WHERE id >= ${rowId(this.#swept + 1, 0)}`);
    const from = next === 0 ? this.#compacted : Math.max(this.#swept, revisionOf(next) - 1); // skips revisions without rows
    const until = Math.min(from + sweepRevisions, this.#compacted);
    const [first, end] = [rowId(this.#swept + 1, 0), rowId(until + 1, 0)];
    const damaged = JSON.stringify(this.damaged.map(({ id }) => id)); // their `previous` may be wrong
    this.#transaction(() => {
      // The plus prevents an automatic index on the whole log.
      this.#database
        .prepare(
          `DELETE FROM log WHERE id IN (
             SELECT old.id FROM log AS new CROSS JOIN log AS old
             WHERE new.id >= ? AND new.id < ? AND new.previous > 0
               AND new.id NOT IN (SELECT value FROM json_each(?))
               AND old.id >= new.previous * 128 AND old.id < (new.previous + 1) * 128 AND +old.key = new.key)`,
        )
        .run(first, end, damaged);
      this.#database
        .prepare(
          `DELETE FROM log WHERE id >= ? AND id < ? AND value IS NULL
             AND id NOT IN (SELECT value FROM json_each(?))`,
        )
        .run(first, end, damaged);
      this.#setHorizon.run(this.#compacted, until, horizonChecksum(this.#compacted, until));
    });
    this.#swept = until;
  }

  /** Releases some free pages to the file system if there are many. Returns whether to call again. */
  shrink(): boolean {
    if (!this.#hasManyFreePages()) return false;
    this.#database.exec(`PRAGMA incremental_vacuum(${freePagesKept})`);
    if (this.#hasManyFreePages()) return true;
    // A checkpoint truncates the file.
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
      // SQLite rolls back itself after some errors.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  #pragma(name: string): number {
    return this.#number(`PRAGMA ${name}`);
  }

  #number(query: string): number {
    const [value] = Object.values(this.#database.prepare(query).get() ?? {});
    if (typeof value !== 'number') throw new Error(`the query "${query}" has no result: restore it from a backup`);
    return value;
  }
}

/** The names under which a damaged row is reported, given all rows with its key. */
function attribute(row: DamagedRow, rows: readonly LinkedRow[], swept: number): readonly DamagedRow[] {
  const at = rows.findIndex(({ id }) => id === row.id);
  const [before, self, after] = [rows[at - 1], rows[at], rows[at + 1]];
  if (before === undefined && after === undefined) return [row];
  const isSwept = before === undefined && revisionOf(row.id) <= swept;
  const followsBefore = isSwept || row.previous === replacedBy(before);
  if (followsBefore && (after === undefined || after.previous === replacedBy(self))) return [row];
  const unknown = { ...row, key: `${row.key} (row ${row.id})` };
  return after === undefined ? [row, unknown] : [unknown];
}

/** What a row after this one has as `previous`. */
const replacedBy = (row: LinkedRow | undefined): number =>
  row === undefined || row.isDeletion === 1 ? 0 : revisionOf(row.id);
