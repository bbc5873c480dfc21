// The log of one container instance: lines with time and stream, in files that are rotated.
import type { FileHandle } from 'node:fs/promises';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

export type Stream = 'stdout' | 'stderr';

export interface LogLimits {
  readonly maxBytes: number;
  /** Files of one instance, the current one included. */
  readonly maxFiles: number;
}

const defaultLogLimits: LogLimits = { maxBytes: 10 << 20, maxFiles: 5 };

/** A longer line is written in parts. */
const maxLineBytes = 16 << 10;
/** Output is not read while this much waits to be written. */
const maxPendingBytes = 1 << 20;
const newline = 0x0a;

/** Writes output as lines `TIME STREAM F|P TEXT`, as container runtimes do. A full disk loses lines and never blocks. */
export class LogFile {
  readonly #path: string;
  readonly #limits: LogLimits;
  #file: FileHandle | undefined;
  #bytes = 0;
  /** Text that ended without a newline. */
  readonly #rest: Record<Stream, Buffer> = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #writing: Promise<void> | undefined;
  /** Lines that could not be written. */
  lostWrites = 0;

  constructor(path: string, limits: LogLimits = defaultLogLimits) {
    this.#path = path;
    this.#limits = limits;
  }

  /** Adds output. The result resolves when the log can take more; undefined: at once. */
  write(stream: Stream, chunk: Buffer, now: string): Promise<void> | undefined {
    const rest = this.#rest[stream];
    let data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (;;) {
      const end = data.indexOf(newline);
      if (end >= 0 && end <= maxLineBytes) {
        this.#add(stream, 'F', data.subarray(0, end), now);
        data = data.subarray(end + 1);
      } else if (data.length >= maxLineBytes) {
        this.#add(stream, 'P', data.subarray(0, maxLineBytes), now);
        data = data.subarray(maxLineBytes);
      } else break;
    }
    this.#rest[stream] = Buffer.from(data); // a copy, so that the chunk can be freed
    this.#writing ??= this.#writeAll();
    return this.#pendingBytes > maxPendingBytes ? this.#writing : undefined;
  }

  /** Writes what is left of the last lines, and closes the file. */
  async close(now: string): Promise<void> {
    for (const stream of ['stdout', 'stderr'] as const) {
      const rest = this.#rest[stream];
      if (rest.length > 0) this.#add(stream, 'F', rest, now);
      this.#rest[stream] = Buffer.alloc(0);
    }
    this.#writing ??= this.#writeAll();
    await this.#writing;
    await this.#file?.close();
    this.#file = undefined;
  }

  #add(stream: Stream, tag: 'F' | 'P', text: Buffer, now: string): void {
    const line = Buffer.concat([Buffer.from(`${now} ${stream} ${tag} `), text, Buffer.of(newline)]);
    this.#pending.push(line);
    this.#pendingBytes += line.length;
  }

  async #writeAll(): Promise<void> {
    // The first write takes what arrives in this turn of the event loop.
    await Promise.resolve();
    while (this.#pending.length > 0) {
      const lines = this.#pending;
      this.#pending = [];
      this.#pendingBytes = 0;
      try {
        await this.#append(Buffer.concat(lines));
      } catch {
        this.lostWrites += lines.length; // a full disk: the process continues without its log
      }
    }
    this.#writing = undefined;
  }

  async #append(data: Buffer): Promise<void> {
    if (this.#file === undefined) {
      this.#file = await open(this.#path, 'a', 0o600);
      this.#bytes = (await this.#file.stat()).size;
    }
    await this.#file.write(data);
    this.#bytes += data.length;
    if (this.#bytes >= this.#limits.maxBytes) await this.#rotate();
  }

  async #rotate(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
    const stamp = new Date().toISOString().replaceAll(/[-:T]/g, '').replace('Z', '');
    await rename(this.#path, `${this.#path}.${stamp}`);
    const files = await logFiles(this.#path);
    const excess = files.slice(0, Math.max(0, files.length - this.#limits.maxFiles + 1));
    await Promise.all(excess.map((file) => rm(file, { force: true })));
  }
}

/** The files of a log that exist, oldest first. */
export async function logFiles(path: string): Promise<readonly string[]> {
  const directory = dirname(path);
  const name = basename(path);
  const names = await readdir(directory).catch((): string[] => []);
  const rotated = names.filter((each) => each.startsWith(`${name}.`)).toSorted();
  return [...rotated, ...names.filter((each) => each === name)].map((each) => join(directory, each));
}

/** The time now with nine digits after the second, as in logs. */
export function logTime(): string {
  const micros = Math.round((performance.timeOrigin + performance.now()) * 1000);
  const ms = Math.floor(micros / 1000);
  return `${new Date(ms).toISOString().slice(0, -1)}${String(micros % 1000).padStart(3, '0')}000Z`;
}
