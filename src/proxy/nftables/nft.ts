import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { spawn } from 'node:child_process';

import { setImmediate, setTimeout } from '../../machine/timers.ts';
import { NftablesError } from './errors.ts';
import type { ProgramLine } from './program.ts';
import { runProgram } from './program.ts';

/** Above this a transaction gets a process of its own, which costs 16 ms and reads any length. */
const longestLine = 256 * 1024;
/** A process is replaced after so many transactions, before it grows. */
const mostTransactions = 10_000;
const answerTimeoutMs = 10_000;
const loadTimeoutMs = 120_000;

/**
 * What is asked after each transaction, so that its end is noticed: it prints a line without looking at any rules. Every
 * `list`, even of tables, makes nft 1.0.6 read all elements of all tables first.
 */
const acknowledge = 'describe meta mark';

/** What to run. */
export interface NftOptions {
  readonly program: ProgramLine;
  /** Told whenever the lasting process is started again. */
  readonly onRestart?: () => void;
}

/**
 * Runs transactions: small ones through one `nft -i` that stays (0.23 ms each, against 16 ms for a process each time),
 * large ones through `nft -f -`. Each is made as a whole or not at all.
 */
export class Nft implements AsyncDisposable {
  readonly #options: NftOptions;
  #session: Session | undefined;
  #starts = 0;

  constructor(options: NftOptions) {
    this.#options = options;
  }

  /** Makes one transaction. Rejects with a NftablesError, and then nothing of it was made. One at a time. */
  async run(commands: readonly string[]): Promise<void> {
    if (commands.length === 0) return;
    const line = commands.join('; ');
    if (line.length > longestLine) return this.load(commands);
    if (this.#session?.isDone === true) this.#end();
    this.#session ??= this.#start();
    try {
      await this.#session.run(line);
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  /** Makes one transaction of any size, in a process of its own. */
  async load(commands: readonly string[]): Promise<void> {
    const { program } = this.#options;
    const input = `${commands.join('\n')}\n`;
    const { code, stderr } = await runProgram(program, ['-f', '-'], { input, timeoutMs: loadTimeoutMs });
    if (code === 'ENOENT') throw new NftablesError('nft-missing', `no program "${program[0]}": install nftables`);
    if (code !== 0) throw failure(stderr === '' ? `it ended with ${String(code)} and said nothing` : stderr);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = this.#session?.ended;
    this.#end();
    await ended;
  }

  #start(): Session {
    if (this.#starts++ > 0) this.#options.onRestart?.();
    return new Session(this.#options);
  }

  #end(): void {
    this.#session?.end();
    this.#session = undefined;
  }
}

const failure = (said: string): NftablesError =>
  new NftablesError(
    'nft-failed',
    `nft refused a transaction: ${said.trim().split('\n').slice(0, 3).join(' ').slice(0, 500)}`,
  );

/** One lasting process. It is of no use after a failure. */
class Session {
  readonly ended: Promise<void>;
  readonly #child: ChildProcessWithoutNullStreams;
  #transactions = 0;
  #answer = '';
  #complaint = '';
  #waiting: PromiseWithResolvers<void> | undefined;

  constructor({ program: [command, ...args] }: NftOptions) {
    this.#child = spawn(command, [...args, '-i'], { stdio: 'pipe' });
    const closed = Promise.withResolvers<void>();
    this.ended = closed.promise;
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => this.#hear(text));
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => this.#hearComplaint(text));
    this.#child.stdin.on('error', () => {});
    this.#child.on('error', (error) =>
      this.#fail(new NftablesError('nft-failed', 'nft did not start', { cause: error })),
    );
    this.#child.on('close', (code) => {
      this.#fail(new NftablesError('nft-failed', `nft ended with ${String(code)}: ${this.#complaint}`));
      closed.resolve();
    });
  }

  get isDone(): boolean {
    return this.#transactions >= mostTransactions || this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async run(line: string): Promise<void> {
    this.#transactions++;
    this.#answer = '';
    this.#complaint = '';
    const waiting = Promise.withResolvers<void>();
    this.#waiting = waiting;
    const timer = setTimeout(
      () => this.#fail(new NftablesError('nft-failed', `nft did not answer within ${answerTimeoutMs / 1000} s`)),
      answerTimeoutMs,
    );
    this.#child.stdin.write(`${line}\n${acknowledge}\n`);
    try {
      await waiting.promise;
    } finally {
      clearTimeout(timer);
      this.#waiting = undefined;
    }
  }

  end(): void {
    this.#child.stdin.end();
    // It has nothing to finish: a transaction is over when it was answered, and void when it was not.
    this.#child.kill('SIGKILL');
  }

  #hear(text: string): void {
    this.#answer += text;
    if (!this.#answer.endsWith('\n')) return;
    // What it complained about was written before the answer, and is read in the same turn of the loop at the latest.
    setImmediate(() => {
      if (this.#complaint === '') this.#waiting?.resolve();
    });
  }

  #hearComplaint(text: string): void {
    this.#complaint += text;
    // The rest of the message is on its way.
    setTimeout(() => this.#fail(failure(this.#complaint)), 5);
  }

  #fail(error: NftablesError): void {
    this.#waiting?.reject(error);
  }
}
