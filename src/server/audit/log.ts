import type { FileHandle } from 'node:fs/promises';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';

import { setTimeout } from '../../machine/timers.ts';
import { makePrivateDirectory, rejectForeignOwner } from '../pki/files.ts';
import type { AuditOptions } from './options.ts';

export interface AuditLogOptions extends Omit<AuditOptions, 'level'> {
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Called once when writes start to fail. */
  readonly onError: (error: unknown) => void;
}

/** Lines beyond this are dropped: requests do not wait for the audit log. */
const maxPendingBytes = 8 << 20;
/** The delay until buffered lines are written. */
const delayMs = 100;

/**
 * A log file with buffered writes.
 *
 *     write ──► pending ──(100 ms)──► one write of all pending lines ──► rotation of a large file
 *                  └──► dropped and counted when the disk is full or too slow
 */
export class AuditLog implements AsyncDisposable {
  readonly #options: AuditLogOptions;
  #file: FileHandle;
  #size: number;
  #pending: string[] = [];
  #pendingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #hasFailed = false;
  #lines = 0;
  #dropped = 0;

  private constructor(options: AuditLogOptions, file: FileHandle, size: number) {
    this.#options = options;
    this.#file = file;
    this.#size = size;
  }

  /** Opens or creates the file; rejects if it cannot be written. */
  static async open(options: AuditLogOptions): Promise<AuditLog> {
    await makePrivateDirectory(dirname(options.path));
    const file = await openFile(options.path);
    await rejectForeignOwner(options.path); // never writes through a link of another user
    const { size } = await file.stat();
    return new AuditLog(options, file, size);
  }

  /** The number of lines, and how many of them were dropped. */
  get counts(): { readonly lines: number; readonly dropped: number } {
    return { lines: this.#lines, dropped: this.#dropped };
  }

  /** Adds a line, which ends with a line feed. Never blocks and never fails. */
  write(line: string): void {
    this.#lines++;
    if (this.#pendingBytes + line.length > maxPendingBytes) {
      this.#dropped++;
      return;
    }
    this.#pending.push(line);
    this.#pendingBytes += line.length;
    this.#timer ??= setTimeout(() => void this.flush(), delayMs);
  }

  /** Resolves when all lines so far are written or dropped. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#writing !== undefined) await this.#writing;
    if (this.#pending.length === 0) return;
    this.#writing = this.#writePending();
    await this.#writing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
    await this.#file.close();
  }

  async #writePending(): Promise<void> {
    const lines = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    let lost = lines.length;
    try {
      // A failed write may have left a partial line.
      const bytes = Buffer.from(`${this.#hasFailed ? '\n' : ''}${lines.join('')}`);
      await writeAll(this.#file, bytes);
      lost = 0;
      this.#size += bytes.length;
      if (this.#size > this.#options.maxBytes) await this.#rotate();
      this.#hasFailed = false;
    } catch (error) {
      this.#dropped += lost;
      if (!this.#hasFailed) this.#options.onError(error);
      this.#hasFailed = true;
    } finally {
      this.#writing = undefined;
    }
  }

  async #rotate(): Promise<void> {
    const { path, clock } = this.#options;
    await rename(path, join(dirname(path), backupName(basename(path), clock())));
    const next = await openFile(path);
    await this.#file.close();
    this.#file = next;
    this.#size = 0;
    await this.#removeOld();
  }

  async #removeOld(): Promise<void> {
    const { path, clock } = this.#options;
    const directory = dirname(path);
    const backups = (await readdir(directory)).flatMap((name): Backup[] => {
      const time = parseBackupName(basename(path), name);
      return time === undefined ? [] : [{ name, time }];
    });
    for (const { name } of backupsToRemove(backups, { ...this.#options, now: clock() })) {
      await rm(join(directory, name), { force: true });
    }
  }
}

/** Only the owner may read the log. */
const openFile = (path: string): Promise<FileHandle> => open(path, 'a', 0o600);

async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, at);
    at += bytesWritten;
  }
}

/** A rotated file. */
export interface Backup {
  readonly name: string;
  /** The time of rotation, in milliseconds since the epoch. */
  readonly time: number;
}

const dayMs = 24 * 60 * 60 * 1000;

/** The name of a rotated file, as in kube-apiserver: `audit-2026-11-15T09-21-21.000.log`. */
export function backupName(name: string, time: number): string {
  const { stem, extension } = splitExtension(name);
  return `${stem}-${new Date(time).toISOString().replaceAll(':', '-').replace('Z', '')}${extension}`;
}

/** The time of rotation in a file name; undefined if it is not a rotated file of `name`. */
export function parseBackupName(name: string, candidate: string): number | undefined {
  const { stem, extension } = splitExtension(name);
  if (!candidate.startsWith(`${stem}-`) || !candidate.endsWith(extension)) return undefined;
  const text = candidate.slice(stem.length + 1, candidate.length - extension.length);
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3})$/.exec(text);
  if (match === null) return undefined;
  const [, date = '', hours = '', minutes = '', seconds = ''] = match;
  return Date.parse(`${date}T${hours}:${minutes}:${seconds}Z`);
}

/** The rotated files that are too many or too old; 0 means no limit. */
export function backupsToRemove(
  backups: readonly Backup[],
  { maxBackups, maxAgeDays, now }: { readonly maxBackups: number; readonly maxAgeDays: number; readonly now: number },
): readonly Backup[] {
  const newestFirst = backups.toSorted((one, other) => other.time - one.time);
  return newestFirst.filter(
    ({ time }, index) => (maxBackups > 0 && index >= maxBackups) || (maxAgeDays > 0 && now - time > maxAgeDays * dayMs),
  );
}

function splitExtension(name: string): { readonly stem: string; readonly extension: string } {
  const extension = extname(name);
  return { stem: name.slice(0, name.length - extension.length), extension };
}
