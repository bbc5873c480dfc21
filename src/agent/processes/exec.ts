// Starts processes in the context of another one: with its environment, directory and user.
import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { readFile, readlink } from 'node:fs/promises';
import { constants as os } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { PassThrough } from 'node:stream';
import { enterArgv, launcherEnvironment } from './launch.ts';
import type { Launcher } from './main-process.ts';
import { instanceVariable } from './main-process.ts';
import { launched, StartError, startMessage } from './start-error.ts';
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
  const { launcher, ...context } = await contextOf(pid, [program, ...args]);
  const terminal = tty ? openTerminal(calls) : undefined;
  const command = launcher?.argv ?? [program, ...args];
  const [file, ...words] = tty ? withTerminal(command) : command;
  const child = spawn(file ?? '', words, {
    ...context,
    detached: !tty,
    stdio: [
      ...(terminal === undefined
        ? ([stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'] as const)
        : [terminal.slave, terminal.slave, terminal.slave]),
      ...(launcher === undefined ? [] : (['pipe'] as const)),
    ],
  });
  // Node discards output that nobody reads when a process ends, which may be before its start is known.
  const [stdout, stderr] = [child.stdout, child.stderr].map((stream) =>
    stream?.pipe(new PassThrough()).on('close', () => stream.destroy()),
  );
  const exited = new Promise<number>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal === null ? (code ?? 0) : 128 + os.signals[signal]));
  });
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) => reject(new StartError(startMessage(error, program), { cause: error })));
    });
    if (launcher !== undefined) await launched(child);
  } finally {
    if (terminal !== undefined) closeSync(terminal.slave);
  }
  child.on('error', () => undefined); // of later signals
  child.stdin?.on('error', () => undefined); // the process closed it
  const { pid: own = 0 } = child;
  return {
    pid: own,
    stdin: stdin ? (terminal?.input ?? child.stdin ?? undefined) : undefined,
    stdout: terminal?.output ?? stdout ?? neverReached(),
    stderr: terminal === undefined ? stderr : undefined,
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

interface Context {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly uid?: number;
  readonly gid?: number;
  /** What enters the namespaces of the process; undefined: it has those of the agent. */
  readonly launcher?: Launcher;
}

/** What a program needs to run beside a process. Rejects with a StartError if it has ended. */
async function contextOf(pid: number, argv: readonly [string, ...string[]]): Promise<Context> {
  try {
    const [environ, cwd, status, namespace, own] = await Promise.all([
      readFile(`/proc/${pid}/environ`, 'utf8'),
      readlink(`/proc/${pid}/cwd`),
      readFile(`/proc/${pid}/status`, 'utf8'),
      readlink(`/proc/${pid}/ns/mnt`),
      readlink('/proc/self/ns/mnt'),
    ]);
    const entries = environ.split('\0').flatMap((entry): [string, string][] => {
      const equals = entry.indexOf('=');
      return equals < 1 ? [] : [[entry.slice(0, equals), entry.slice(equals + 1)]];
    });
    const env = Object.fromEntries(entries);
    const numbers = (field: string): readonly number[] => {
      const line = status.split('\n').find((each) => each.startsWith(`${field}:`)) ?? '';
      return (line.slice(field.length + 1).match(/\d+/g) ?? []).map(Number);
    };
    const [uid = 0] = numbers('Uid');
    const [gid = 0] = numbers('Gid');
    if (namespace !== own && process.getuid?.() === 0) {
      const launcher = {
        argv: enterArgv(pid, { argv, env, credentials: { uid, gid, groups: numbers('Groups') } }),
        env: { ...launcherEnvironment, [instanceVariable]: env[instanceVariable] ?? '' },
      };
      return { env: launcher.env, cwd: '/', launcher };
    }
    const isOther = uid !== process.getuid?.() || gid !== process.getgid?.();
    return { env, cwd, ...(isOther ? { uid, gid } : {}) };
  } catch (error) {
    throw new StartError('the container is not running', { cause: error });
  }
}
