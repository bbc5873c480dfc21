// Starts processes in the context of another one: with its environment, directory and user.
import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { readFile, readlink } from 'node:fs/promises';
import { constants as os } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { startMessage, StartError } from './main-process.ts';
import type { ProcessCalls } from './native.ts';
import { openTerminal, withTerminal } from './terminal.ts';

export interface ExecOptions {
  readonly stdin: boolean;
  readonly tty: boolean;
}

export interface ExecProcess {
  readonly pid: number;
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable | undefined;
  resize(columns: number, rows: number): void;
  kill(): void;
  readonly exited: Promise<number>;
}

/** Starts a program beside a running process. Rejects with a StartError. */
export async function execBeside(
  calls: ProcessCalls,
  pid: number,
  [program = '', ...args]: readonly string[],
  { stdin, tty }: ExecOptions,
): Promise<ExecProcess> {
  const context = await contextOf(pid);
  const terminal = tty ? openTerminal(calls) : undefined;
  const [file, ...words] = tty ? withTerminal([program, ...args]) : [program, ...args];
  const child = spawn(file ?? '', words, {
    ...context,
    detached: !tty,
    stdio:
      terminal === undefined
        ? [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe']
        : [terminal.slave, terminal.slave, terminal.slave],
  });
  const exited = new Promise<number>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal === null ? (code ?? 0) : 128 + os.signals[signal]));
  });
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) => reject(new StartError(startMessage(error, program), { cause: error })));
    });
  } finally {
    if (terminal !== undefined) closeSync(terminal.slave);
  }
  child.on('error', () => undefined); // of later signals
  child.stdin?.on('error', () => undefined); // the process closed it
  const { pid: own = 0, stdout } = child;
  return {
    pid: own,
    stdin: stdin ? (terminal?.input ?? child.stdin ?? undefined) : undefined,
    stdout: terminal?.output ?? stdout ?? neverReached(),
    stderr: terminal === undefined ? (child.stderr ?? undefined) : undefined,
    resize: (columns, rows) => terminal?.resize(columns, rows),
    kill() {
      try {
        process.kill(-own, 'SIGKILL');
      } catch {
        // It has ended.
      }
    },
    exited,
  };
}

function neverReached(): never {
  throw new Error('bug: a process without a terminal has pipes');
}

/** The environment, directory and user of a process. Rejects with a StartError if it has ended. */
async function contextOf(pid: number): Promise<{
  readonly env: Record<string, string>;
  readonly cwd: string;
  readonly uid?: number;
  readonly gid?: number;
}> {
  try {
    const [environ, cwd, status] = await Promise.all([
      readFile(`/proc/${pid}/environ`, 'utf8'),
      readlink(`/proc/${pid}/cwd`),
      readFile(`/proc/${pid}/status`, 'utf8'),
    ]);
    const entries = environ.split('\0').flatMap((entry): [string, string][] => {
      const equals = entry.indexOf('=');
      return equals < 1 ? [] : [[entry.slice(0, equals), entry.slice(equals + 1)]];
    });
    const uid = Number(/^Uid:\t(\d+)/m.exec(status)?.[1]);
    const gid = Number(/^Gid:\t(\d+)/m.exec(status)?.[1]);
    const isOther = uid !== process.getuid?.() || gid !== process.getgid?.();
    return { env: Object.fromEntries(entries), cwd, ...(isOther ? { uid, gid } : {}) };
  } catch (error) {
    throw new StartError('the container is not running', { cause: error });
  }
}
