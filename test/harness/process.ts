import type { ChildProcessByStdio } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** The root of the repository, the working directory of commands. */
export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const launcher = join(root, 'bin', 'fairlead.js');
const hold = join(import.meta.dirname, 'hold.ts');
const printsWithinMs = 90_000;
const stopWithinMs = 60_000;

export interface ProcessOptions {
  /** Waits, with its code loaded, until `release` is called; see hold.ts. */
  readonly held?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The prefix of its command line, such as `NobodysNetwork.within`. */
  readonly within?: readonly string[];
}

/** A running `fairlead` command. */
export class FairleadProcess implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #exited: Promise<number | null>;
  readonly #command: string;
  #out = '';
  #err = '';

  constructor(args: readonly string[], { held = false, env = {}, cwd, within = [] }: ProcessOptions = {}) {
    this.#command = `fairlead ${args.join(' ')}`;
    const node = [process.execPath, ...(held ? ['--import', hold] : []), launcher, ...args];
    const [file = '', ...words] = [...within, ...node];
    this.#child = spawn(file, words, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
      ...(cwd === undefined ? {} : { cwd }),
    });
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => (this.#out += text));
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#err += text));
    this.#child.stdin.on('error', () => undefined); // a process that is killed closes it first
    // After its output has ended too, so that all of it can be read.
    this.#exited = once(this.#child, 'close').then(([code]: (number | null)[]) => code ?? null);
    if (!held) this.release();
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Its standard output so far. */
  get out(): string {
    return this.#out;
  }

  /** Its standard error so far, which is its log. */
  get err(): string {
    return this.#err;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  release(): void {
    this.#child.stdin.end();
  }

  /** Resolves when the command reports that it is ready. */
  ready(): Promise<void> {
    return this.prints(/\bready in /);
  }

  /** Resolves when the output matches; rejects when the command exits or takes too long. */
  async prints(pattern: RegExp): Promise<void> {
    const late = AbortSignal.timeout(printsWithinMs);
    while (!pattern.test(this.#out)) {
      if (this.hasEnded || late.aborted) throw new Error(`no ${String(pattern)}: ${this.#output()}`);
      const signal = { signal: late };
      await Promise.race([once(this.#child.stdout, 'data', signal), once(this.#child, 'close', signal)]).catch(
        () => undefined, // the deadline, checked above
      );
    }
  }

  /** Sends a signal and resolves when the command has exited. After SIGTERM the exit code must be 0. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    if (this.hasEnded) return;
    this.#child.kill(signal);
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), stopWithinMs);
    const code = await this.#exited;
    clearTimeout(timer);
    if (signal === 'SIGTERM' && code !== 0) throw new Error(`it ended with ${code}: ${this.#output()}`);
  }

  /** Resolves with the exit code when the command exits by itself. */
  ended(): Promise<number | null> {
    return this.#exited;
  }

  /** Its resident memory in bytes. */
  async residentBytes(): Promise<number> {
    const status = await readFile(`/proc/${this.pid}/status`, 'utf8');
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
    if (kilobytes === undefined) throw new Error('no VmRSS');
    return Number(kilobytes) * 1024;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop('SIGKILL');
  }

  #output(): string {
    return `${this.#command}\n${this.#out}${this.#err}`;
  }
}
