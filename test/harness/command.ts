import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** The output of a program, and how it ended. */
export interface Result {
  readonly out: string;
  readonly err: string;
  readonly code: number;
}

export interface CommandOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** For servers, which run as long as a test. Default: one minute. */
  readonly timeoutMs?: number;
}

/** Longer than any command of a test takes: a command that hangs is killed. */
const deadlineMs = 60_000;

/** A running program. */
export interface Running extends Disposable {
  readonly pid: number;
  /** Its standard output so far. */
  readonly printed: string;
  /** Rejects only if the program cannot be started or does not exit by itself. */
  readonly ended: Promise<Result>;
  /** Resolves when the output matches; rejects when the program exits or the deadline passes first. */
  prints(pattern: RegExp): Promise<void>;
}

/** Starts a program without a shell. */
export function start(file: string, args: readonly string[], options: CommandOptions = {}): Running {
  const child = spawn(file, args, {
    stdio: 'pipe',
    timeout: options.timeoutMs ?? deadlineMs,
    killSignal: 'SIGKILL',
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { ...process.env, ...options.env },
  });
  // A program that does not read its input may close it first; its exit code is enough.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const printed = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (printed.err += text));
  const output = (): string => `${file} ${args.join(' ')}\n${printed.out}${printed.err}`;
  const ended = once(child, 'close').then(([code, signal]: unknown[]) => {
    if (typeof code !== 'number') throw new Error(`ended by ${String(signal)}: ${output()}`);
    return { ...printed, code };
  });
  ended.catch(() => undefined); // killed by the test, or awaited elsewhere
  return {
    pid: child.pid ?? 0,
    ended,
    get printed() {
      return printed.out;
    },
    async prints(pattern) {
      for (const end = performance.now() + deadlineMs; !pattern.test(printed.out);) {
        if (child.exitCode !== null || performance.now() > end) throw new Error(`no ${String(pattern)}: ${output()}`);
        await Promise.race([once(child.stdout, 'data'), once(child, 'close')]);
      }
    },
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
}

/** Runs a program without a shell until it exits. Rejects only if it cannot be started or does not exit. */
export const run = (file: string, args: readonly string[], options: CommandOptions = {}): Promise<Result> =>
  start(file, args, options).ended;
