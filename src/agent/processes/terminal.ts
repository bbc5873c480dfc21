import { closeSync, constants, openSync, write } from 'node:fs';
import { Writable } from 'node:stream';
import { ReadStream } from 'node:tty';
import { codeOf } from '../../api/error-message.ts';
import { setTimeout } from '../../machine/timers.ts';
import type { ProcessCalls } from './native.ts';

/** A pseudo terminal: what its process prints, and what it reads. */
export interface Terminal {
  /** The descriptor for the process; `start` closes it after the process has it. */
  readonly slave: number;
  readonly output: ReadStream;
  readonly input: Writable;
  resize(columns: number, rows: number): void;
  /** Hangs up. */
  close(): void;
}

/** A program that makes a terminal the controlling one of a new session, and then executes its arguments. */
export const withTerminal = (argv: readonly string[]): readonly [string, ...string[]] => [
  'setsid',
  '--ctty',
  '--',
  ...argv,
];

/** How long to wait while the terminal takes no input. */
const retryMs = 5;

/** Opens a terminal. Throws without native code. */
export function openTerminal(calls: ProcessCalls): Terminal {
  if (calls.terminal === undefined) throw new Error('terminals need native code, which is not available here');
  const master = openSync('/dev/ptmx', constants.O_RDWR | constants.O_NOCTTY);
  try {
    const slave = openSync(`/dev/pts/${calls.terminal.unlock(master)}`, constants.O_RDWR | constants.O_NOCTTY);
    const output = new ReadStream(master);
    // The last process has closed it.
    output.on('error', () => output.destroy());
    const { terminal } = calls;
    return {
      slave,
      output,
      input: new Writable({
        write(chunk: Buffer, _encoding, done) {
          writeAll(master, chunk, () => output.destroyed, done);
        },
        final(done) {
          writeAll(master, Buffer.of(endOfFile), () => output.destroyed, done);
        },
      }),
      resize: (columns, rows) => {
        if (!output.destroyed) terminal.resize(master, columns, rows);
      },
      close: () => void output.destroy(),
    };
  } catch (error) {
    closeSync(master);
    throw error;
  }
}

/** Control-D. */
const endOfFile = 4;

function writeAll(fd: number, chunk: Buffer, isClosed: () => boolean, done: (error?: Error | null) => void): void {
  if (isClosed() || chunk.length === 0) return done();
  write(fd, chunk, (error, written) => {
    if (error === null) return writeAll(fd, chunk.subarray(written), isClosed, done);
    if (codeOf(error) !== 'EAGAIN') return done(error);
    setTimeout(() => writeAll(fd, chunk, isClosed, done), retryMs);
  });
}
