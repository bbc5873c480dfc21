// A backup of a store of any engine, as lines of JSON: a header, a record for each key, and a trailer.

import type { Hash } from 'node:crypto';
import { createHash } from 'node:crypto';

import { messageOf } from '../../api/error-message.ts';
import { BackupError } from '../errors.ts';
import type { Entry } from '../store.ts';

/** The first line of a backup. */
export interface BackupHeader {
  readonly kind: typeof backupKind;
  /** The version of the format. */
  readonly version: number;
  readonly cluster: string;
  /** The records are the state of the store at this revision. */
  readonly revision: number;
  /** RFC 3339. */
  readonly time: string;
  /** Keys whose records are damaged and therefore missing, at most `maxDamaged`. */
  readonly damaged?: readonly string[];
}

/** A header, and the entries in the order of their keys. */
export interface Backup {
  readonly header: BackupHeader;
  readonly entries: Iterable<Entry>;
}

/** The last line of a backup: the number of records, and the SHA-256 of all lines before it. */
interface Trailer {
  readonly records: number;
  readonly sha256: string;
}

type Line = [key: string, revision: number, created: number, value: string];

export const backupKind = 'FairleadBackup';
export const backupVersion = 1;
export const maxDamaged = 100;

/** The characters of a piece of an encoded backup, beyond which only the current record is completed. */
const pieceLength = 128 << 10;

/** Encodes a backup, piece by piece. */
export function* encodeBackup({ header, entries }: Backup): Generator<string, void> {
  const hash = createHash('sha256');
  let piece = `${JSON.stringify(header)}\n`;
  let records = 0;
  for (const { key, revision, created, value } of entries) {
    if (piece.length >= pieceLength) {
      hash.update(piece);
      yield piece;
      piece = '';
    }
    piece += `${JSON.stringify([key, revision, created, value] satisfies Line)}\n`;
    records++;
  }
  hash.update(piece);
  yield `${piece}${JSON.stringify({ records, sha256: hash.digest('hex') } satisfies Trailer)}\n`;
}

/** Decodes and checks a backup line by line. Throws a `BackupError` that names the line and the fix. */
export class BackupDecoder {
  readonly #name: string;
  readonly #hash: Hash = createHash('sha256');
  #header: BackupHeader | undefined;
  #lines = 0;
  #records = 0;
  #lastKey = '';
  #isComplete = false;

  /** `name` is the name of the file, for errors. */
  constructor(name: string) {
    this.#name = name;
  }

  get header(): BackupHeader | undefined {
    return this.#header;
  }

  /** The number of records so far. */
  get records(): number {
    return this.#records;
  }

  /** Takes the next line, without its line feed. Returns the entry of a record, undefined for other lines. */
  take(line: string): Entry | undefined {
    this.#lines++;
    if (this.#isComplete) throw this.#damaged('there are lines after its end');
    const value = this.#parse(line);
    if (this.#header === undefined) {
      this.#header = this.#headerOf(value);
    } else if (!Array.isArray(value)) {
      this.#checkTrailer(value);
      return undefined;
    }
    this.#hash.update(line).update('\n');
    return Array.isArray(value) ? this.#entryOf(value) : undefined;
  }

  /** Checks that the backup is complete. */
  end(): void {
    if (this.#isComplete) return;
    if (this.#lines === 0) throw new BackupError(`${this.#name} is empty: use another backup`);
    throw new BackupError(`${this.#name} is truncated after line ${this.#lines}: use another backup`);
  }

  #parse(line: string): unknown {
    try {
      return JSON.parse(line);
    } catch (error) {
      if (this.#header === undefined) throw this.#noBackup();
      throw this.#damaged(`line ${this.#lines} is not JSON (${messageOf(error)})`);
    }
  }

  #headerOf(value: unknown): BackupHeader {
    const { kind, version, cluster, revision, time, damaged = [] } = (value ?? {}) as Partial<BackupHeader>;
    if (kind !== backupKind || typeof version !== 'number') throw this.#noBackup();
    if (version > backupVersion) {
      throw new BackupError(
        `${this.#name} was written by a newer release (format ${version}): use that release or a newer one`,
      );
    }
    const isValid =
      typeof cluster === 'string' && isRevision(revision) && typeof time === 'string' && Array.isArray(damaged);
    if (!isValid) throw this.#damaged('its header is incomplete');
    return { kind, version, cluster, revision, time, damaged };
  }

  #entryOf(line: readonly unknown[]): Entry {
    const [key, revision, created, value] = line;
    const isValid = typeof key === 'string' && isRevision(revision) && isRevision(created) && typeof value === 'string';
    if (!isValid || line.length !== 4) throw this.#damaged(`line ${this.#lines} is not a record`);
    if (key <= this.#lastKey) throw this.#damaged(`line ${this.#lines} is out of order`);
    this.#lastKey = key;
    this.#records++;
    return { key, revision, created, value };
  }

  #checkTrailer(value: unknown): void {
    const { records, sha256 } = (value ?? {}) as Partial<Trailer>;
    if (records !== this.#records) {
      throw this.#damaged(`it has ${this.#records} records, and its last line counts ${String(records)}`);
    }
    if (sha256 !== this.#hash.digest('hex')) throw this.#damaged('its checksum is wrong');
    this.#isComplete = true;
  }

  #noBackup(): BackupError {
    return new BackupError(`${this.#name} is not a backup of a store: pass a file of \`fairlead store backup\``);
  }

  #damaged(what: string): BackupError {
    return new BackupError(`${this.#name} is damaged, ${what}: use another backup`);
  }
}

const isRevision = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** A backup that is read from its lines. */
export interface BackupReader {
  readonly header: BackupHeader;
  /** The records, once. Throws at the end if the backup is truncated or damaged. */
  readonly records: AsyncIterable<Entry>;
}

/** Reads the header of a backup, and then its records while they are consumed. `name` is for errors. */
export async function readBackup(lines: AsyncIterable<string>, name: string): Promise<BackupReader> {
  const decoder = new BackupDecoder(name);
  const iterator = lines[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done === true) decoder.end();
  else decoder.take(first.value);
  const { header } = decoder;
  if (header === undefined) throw new Error('bug: a backup without a header was accepted');
  return { header, records: recordsOf(iterator, decoder) };
}

async function* recordsOf(lines: AsyncIterator<string>, decoder: BackupDecoder): AsyncGenerator<Entry, void> {
  try {
    for (let next = await lines.next(); next.done !== true; next = await lines.next()) {
      const entry = decoder.take(next.value);
      if (entry !== undefined) yield entry;
    }
    decoder.end();
  } finally {
    await lines.return?.();
  }
}
