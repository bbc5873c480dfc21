import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/** What a program printed, and how it ended. */
export interface Result {
  readonly out: string;
  readonly err: string;
  readonly code: number;
}

export interface CommandOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** No command of a test takes longer; what does hangs, and is ended. */
const deadlineMs = 60_000;

/** Runs a program, without a shell, to its end. Rejects only when it cannot be started or does not end. */
export async function run(file: string, args: readonly string[], options: CommandOptions = {}): Promise<Result> {
  const child = spawn(file, args, {
    stdio: 'pipe',
    timeout: deadlineMs,
    killSignal: 'SIGKILL',
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { ...process.env, ...options.env },
  });
  // A program that does not read its input may close it first; how it ended says all there is to say.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const [out, err, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null, string | null]>,
  ]);
  if (code === null) throw new Error(`${file} ${args.join(' ')}: ended by ${signal} after:\n${out}${err}`);
  return { out, err, code };
}
