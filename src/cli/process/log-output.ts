import { writeSync } from 'node:fs';

import { codeOf } from '../../api/error-message.ts';
import { setTimeout } from '../../machine/timers.ts';

/** Bytes that wait for the reader of the log; further lines are dropped. */
const maxPendingBytes = 1 << 20;
/** The interval of retries while the pipe is full. */
const retryMs = 100;

/** Writes bytes and returns how many, or throws; as `writeSync` of a file descriptor. */
type Write = (bytes: Buffer) => number;

/**
 * Lines for a file descriptor whose reader may be slow, paused or closed. A line is written at once where that is possible:
 * the last one before an exit is the one that matters. Lines for a full pipe wait, up to a bound, and those that cannot
 * be written are dropped and counted. Never waits and never fails.
 */
export class LogOutput {
  readonly #write: Write;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(write: Write = toStderr) {
    this.#write = write;
  }

  /** Lines that were dropped. */
  get dropped(): number {
    return this.#dropped;
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#pendingBytes + bytes.length > maxPendingBytes) {
      this.#dropped++;
      return;
    }
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    if (this.#timer === undefined) this.flush();
  }

  /** Writes as many lines as the reader accepts now. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    let done = 0;
    for (; done < this.#pending.length; done++) {
      const rest = this.#writeSome(this.#pending[done] ?? Buffer.alloc(0));
      if (rest.length === 0) continue;
      this.#pending[done] = rest;
      this.#timer = setTimeout(() => this.flush(), retryMs).unref();
      break;
    }
    this.#pending = this.#pending.slice(done);
    this.#pendingBytes = this.#pending.reduce((sum, { length }) => sum + length, 0);
  }

  /** Writes a line, and returns the rest of it that did not fit. */
  #writeSome(line: Buffer): Buffer {
    let rest = line;
    try {
      while (rest.length > 0) rest = rest.subarray(this.#write(rest));
      return rest;
    } catch (error) {
      if (isFull(error)) return rest;
      this.#dropped++; // the reader is closed or the disk full: the next line may succeed
      return Buffer.alloc(0);
    }
  }
}

const isFull = (error: unknown): boolean => codeOf(error) === 'EAGAIN';

/** Node makes a pipe or socket at stderr non-blocking when `process.stderr` is first used, which main.ts does. */
const toStderr: Write = (bytes) => writeSync(2, bytes);
