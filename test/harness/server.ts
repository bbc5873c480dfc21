import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { freePort } from '../../src/server/testing/free-port.ts';
import { FairleadProcess } from './process.ts';

/** What a client needs to talk to the server as its administrator. */
export interface Credentials {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** The administrator of a cluster whose server has this data directory. */
export async function credentialsIn(directory: string, cluster: string): Promise<Credentials> {
  const read = (name: string): Promise<string> => readFile(join(directory, 'pki', cluster, name), 'utf8');
  const [ca, cert, key] = await Promise.all([read('ca.crt'), read('admin.crt'), read('admin.key')]);
  return { ca, cert, key };
}

/** One data directory and one port, on which `fairlead server` is started, stopped, killed and started again. */
export class FairleadServer implements AsyncDisposable {
  readonly directory: string;
  readonly port: number;
  readonly #flags: readonly string[];
  /** The process that answers. */
  #running: FairleadProcess | undefined;
  /** A process that waits to be the next one. */
  #next: FairleadProcess | undefined;

  private constructor(directory: string, port: number, flags: readonly string[]) {
    this.directory = directory;
    this.port = port;
    this.#flags = flags;
  }

  /** Makes the directory, which `fill` may write to, and starts the server in it. */
  static async start(
    flags: readonly string[] = [],
    fill: (directory: string) => Promise<void> = () => Promise.resolve(),
  ): Promise<FairleadServer> {
    const directory = await mkdtemp(join(tmpdir(), 'fairlead-process-'));
    await fill(directory);
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

  /** Starts the next process now, as far as it gets without the data directory. */
  prepare(): void {
    const args = ['server', '--data-dir', this.directory, '--secure-port', `${this.port}`, ...this.#flags];
    this.#next ??= new FairleadProcess(args, { held: true });
  }

  /** Resolves when the server answers. */
  async start(): Promise<void> {
    this.prepare();
    this.#running = this.#next;
    this.#next = undefined;
    this.#running?.release();
    await this.#running?.ready();
  }

  /** Ends the process by a signal and resolves when it has gone. */
  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.#running?.stop(signal);
    this.#running = undefined;
  }

  /** What the running process has logged. */
  get log(): string {
    return this.#running?.err ?? '';
  }

  /** Sends a signal to the process, such as SIGSTOP. */
  signal(signal: NodeJS.Signals): void {
    if (this.#running !== undefined) process.kill(this.#running.pid, signal);
  }

  credentials(): Promise<Credentials> {
    return credentialsIn(this.directory, 'fairlead');
  }

  /** Bytes of memory that the process has resident. */
  residentBytes(): Promise<number> {
    return this.#running?.residentBytes() ?? assert.fail('the server is not running');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#next?.stop('SIGKILL');
    await this.stop('SIGKILL');
    await rm(this.directory, { recursive: true, force: true });
  }
}
