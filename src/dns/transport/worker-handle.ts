import type { Worker } from 'node:worker_threads';

import { setTimeout } from '../../machine/timers.ts';
import { concat } from '../../dnswire/record.ts';
import type { SlowPathReply } from './slow-path-messages.ts';
import { packReply } from './slow-path-messages.ts';
import { SocketError } from './native.ts';
import type { FromWorker, ToWorker, WorkerSetup } from './protocol.ts';
import { takeThread } from './thread.ts';

export interface WorkerEvents {
  /** Called with packed queries. */
  readonly onQueries: (packed: Uint8Array, worker: WorkerHandle) => void;
  /** Called if the thread exits without being stopped. */
  readonly onExit: (error: unknown, worker: WorkerHandle) => void;
}

/**
 * A thread that does not exit within this time is terminated. Not earlier: terminating it while it loads native code would
 * end the process.
 */
const terminateAfterMs = 5000;

/** The main thread's side of a worker thread. */
export class WorkerHandle {
  /** Its configuration, without the table, which changes. */
  readonly setup: Omit<WorkerSetup, 'table'>;
  /** The table it reads. */
  table: WorkerSetup['table'];
  readonly #thread: Worker;
  readonly #ready = Promise.withResolvers<readonly number[]>();
  readonly #ended = Promise.withResolvers<void>();
  /** Pending calls of `useTable`. */
  #switches: (() => void)[] = [];
  #unposted: Uint8Array[] = [];
  /** Whether its exit is expected: it is being stopped, or is not ready yet. */
  #isStopping = true;

  constructor({ table, ...setup }: WorkerSetup, { onQueries, onExit }: WorkerEvents) {
    this.setup = setup;
    this.table = table;
    this.#thread = takeThread();
    this.#post({ kind: 'setup', setup: { ...setup, table } });
    let failure: unknown;
    this.#thread.on('message', (message: Uint8Array | FromWorker) => {
      if (message instanceof Uint8Array) onQueries(message, this);
      else this.#handle(message);
    });
    this.#thread.on('error', (error) => {
      failure = error;
    });
    this.#thread.on('exit', () => {
      this.#ended.resolve();
      this.#ready.reject(failure ?? new Error('DNS worker exited before it was ready'));
      for (const done of this.#switches.splice(0)) done();
      if (!this.#isStopping) onExit(failure, this);
    });
    // Prevents an unhandled rejection if no code awaits `ready`.
    this.#ready.promise.catch(() => undefined);
  }

  /** Resolves to its ports; rejects if it cannot listen. */
  get ready(): Promise<readonly number[]> {
    return this.#ready.promise;
  }

  /** Sends it a message of a reply. Messages of one turn are posted together. */
  reply(message: SlowPathReply): void {
    if (this.#unposted.push(packReply(message)) > 1) return;
    queueMicrotask(() => {
      const packed = concat(this.#unposted);
      this.#unposted = [];
      this.#thread.postMessage(packed, [packed.buffer as ArrayBuffer]);
    });
  }

  /** Switches to another table; resolves when the worker no longer reads the old one. */
  async useTable(table: WorkerSetup['table'], recursionAvailable: boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#switches.push(resolve);
    this.#post({ kind: 'table', table, recursionAvailable });
    await Promise.race([promise, this.#ended.promise]);
    this.table = table;
  }

  /** Answers received queries and stops; resolves when the thread has exited. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isStopping = true;
    this.#post({ kind: 'drain', timeoutMs });
    const timer = setTimeout(() => void this.#thread.terminate(), timeoutMs + terminateAfterMs);
    await this.#ended.promise;
    clearTimeout(timer);
  }

  /** Stops without waiting for outstanding queries; resolves when the thread has exited. */
  stop(): Promise<void> {
    return this.drain(0);
  }

  #post(message: ToWorker): void {
    this.#thread.postMessage(message);
  }

  #handle(message: FromWorker): void {
    switch (message.kind) {
      case 'ready':
        this.#isStopping = false;
        this.#ready.resolve(message.ports);
        return;
      case 'failed':
        this.#ready.reject(new SocketError(message.code, message.message));
        return;
      case 'switched':
        this.#switches.shift()?.();
        return;
      case 'drained':
    }
  }
}
