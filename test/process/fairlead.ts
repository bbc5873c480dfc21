import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const launcher = join(import.meta.dirname, '..', '..', 'bin', 'fairlead.js');
const hold = join(import.meta.dirname, 'hold.ts');
const readyWithinMs = 30_000;

/** What a client needs to talk to the server as its administrator. */
export interface Credentials {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** One data directory and one port, on which `fairlead server` is started, stopped, killed and started again. */
export class FairleadServer implements AsyncDisposable {
  readonly directory: string;
  readonly port: number;
  readonly #flags: readonly string[];
  /** The process that answers. */
  #running: ChildProcess | undefined;
  /** A process that waits to be the next one. */
  #next: ChildProcess | undefined;

  private constructor(directory: string, port: number, flags: readonly string[]) {
    this.directory = directory;
    this.port = port;
    this.#flags = flags;
  }

  /** Makes the directory and starts the server in it. */
  static async start(flags: readonly string[] = []): Promise<FairleadServer> {
    const directory = await mkdtemp(join(tmpdir(), 'fairlead-process-'));
    const server = new FairleadServer(directory, await freePort(), flags);
    await server.start();
    return server;
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  get kubeconfig(): string {
    return join(this.directory, 'kubeconfig');
  }

  get pid(): number {
    return this.#running?.pid ?? assert.fail('the server is not running');
  }

  /** Starts the next process now, as far as it gets without the data directory. */
  prepare(): void {
    this.#next ??= spawn(
      process.execPath,
      ['--import', hold, launcher, 'server', '--data-dir', this.directory, '--secure-port', `${this.port}`].concat(
        this.#flags,
      ),
      { stdio: ['pipe', 'pipe', 'pipe'] },
    );
  }

  /** Resolves when the server answers. */
  async start(): Promise<void> {
    this.prepare();
    const child = this.#next ?? assert.fail('bug: nothing was prepared');
    this.#next = undefined;
    this.#running = child;
    child.stdin?.end(); // it waits for this, see hold.ts
    let out = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (out += text));
    await new Promise<void>((resolve, reject) => {
      const fail = (why: string): void => reject(new Error(`the server ${why}: ${out}`));
      const timer = setTimeout(() => fail('was not ready in time'), readyWithinMs);
      child.on('exit', (code, signal) => fail(`ended with ${code ?? signal}`));
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        out += text;
        if (!/ ready in /.test(out)) return;
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Ends the process by a signal and resolves when it has gone. */
  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#running;
    this.#running = undefined;
    if (child === undefined) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    const [code] = (await exited) as [number | null];
    if (signal === 'SIGTERM') assert.equal(code, 0, 'a server that is asked to stop ends with 0');
  }

  async credentials(): Promise<Credentials> {
    const read = (name: string): Promise<string> => readFile(join(this.directory, 'pki', name), 'utf8');
    const [ca, cert, key] = await Promise.all([read('ca.crt'), read('admin.crt'), read('admin.key')]);
    return { ca, cert, key };
  }

  /** Bytes of memory that the process has resident. */
  async residentBytes(): Promise<number> {
    const status = await readFile(`/proc/${this.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? assert.fail('no VmRSS')) * 1024;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const next = this.#next;
    if (next !== undefined) {
      const exited = once(next, 'exit');
      next.kill('SIGKILL');
      await exited;
    }
    await this.stop('SIGKILL');
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** A port that nobody has now. Another process may take it meanwhile; then the server says so and the test fails. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address !== null ? address.port : assert.fail('no port');
}
