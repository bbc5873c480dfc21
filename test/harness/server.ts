import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { freePort } from '../../src/server/testing/free-port.ts';
import { FairleadProcess } from './process.ts';
import { storeFlags } from './store.ts';

/** The address and credentials of an administrator. */
export interface Credentials {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** The administrator of the cluster in this data directory. */
export async function credentialsIn(directory: string, cluster: string): Promise<Credentials> {
  const read = (name: string): Promise<string> => readFile(join(directory, 'pki', cluster, name), 'utf8');
  const [ca, cert, key] = await Promise.all([read('ca.crt'), read('admin.crt'), read('admin.key')]);
  return { ca, cert, key };
}

/** One data directory and one port, on which `fairlead server` is started, stopped, killed and restarted. */
export class FairleadServer implements AsyncDisposable {
  readonly directory: string;
  readonly port: number;
  readonly #flags: readonly string[];
  /** The running process. */
  #running: FairleadProcess | undefined;
  /** The process that is prepared for the next start. */
  #next: FairleadProcess | undefined;

  private constructor(directory: string, port: number, flags: readonly string[]) {
    this.directory = directory;
    this.port = port;
    this.#flags = flags;
  }

  /** Creates the directory, which `fill` may write to, and starts the server. */
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

  /** Starts the next process now, up to the point where it needs the data directory. */
  prepare(): void {
    const args = ['server', '--data-dir', this.directory, '--secure-port', `${this.port}`];
    args.push(...storeFlags(this.directory, this.#flags), ...this.#flags);
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

  /** Sends a signal to the process and resolves when it has exited. */
  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.#running?.stop(signal);
    this.#running = undefined;
  }

  /** The log of the running process. */
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

  /** The resident memory of the process in bytes. */
  residentBytes(): Promise<number> {
    return this.#running?.residentBytes() ?? assert.fail('the server is not running');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#next?.stop('SIGKILL');
    await this.stop('SIGKILL');
    await rm(this.directory, { recursive: true, force: true });
  }
}
