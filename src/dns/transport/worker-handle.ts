import type { Worker } from 'node:worker_threads';

import { setTimeout } from '../../machine/timers.ts';
import { concat } from '../../dnswire/record.ts';
import type { SlowPathReply } from './slow-path-messages.ts';
import { packReply } from './slow-path-messages.ts';
import { SocketError } from './native.ts';
import type { FromWorker, ToWorker, WorkerSetup } from './protocol.ts';
import { takeThread } from './thread.ts';

export interface WorkerEvents {
  /** Packed questions have come. */
  readonly onAsks: (packed: Uint8Array, worker: WorkerHandle) => void;
  /** The thread has ended though nobody told it to. */
  readonly onDeath: (error: unknown, worker: WorkerHandle) => void;
}

/**
 * A thread that has not ended by itself for so long hangs. It is not ended before: in the middle of loading native code
 * that would end the process.
 */
const hangsAfterMs = 5000;

/** A worker thread, from the main thread's side. */
export class WorkerHandle {
  /** How it was set up, but for its table, which changes. */
  readonly setup: Omit<WorkerSetup, 'table'>;
  /** The table it reads. */
  table: WorkerSetup['table'];
  readonly #thread: Worker;
  readonly #ready = Promise.withResolvers<readonly number[]>();
  readonly #ended = Promise.withResolvers<void>();
  /** Those who wait for it to read another table. */
  #switches: (() => void)[] = [];
  #unposted: Uint8Array[] = [];
  /** Its end is nothing to be told of: it was told to, or has not begun. */
  #isStopping = true;

  constructor({ table, ...setup }: WorkerSetup, { onAsks, onDeath }: WorkerEvents) {
    this.setup = setup;
    this.table = table;
    this.#thread = takeThread();
    this.#say({ kind: 'setup', setup: { ...setup, table } });
    let failure: unknown;
    this.#thread.on('message', (message: Uint8Array | FromWorker) => {
      if (message instanceof Uint8Array) onAsks(message, this);
      else this.#hear(message);
    });
    this.#thread.on('error', (error) => {
      failure = error;
    });
    this.#thread.on('exit', () => {
      this.#ended.resolve();
      this.#ready.reject(failure ?? new Error('a DNS worker ended before it was ready'));
      for (const done of this.#switches.splice(0)) done();
      if (!this.#isStopping) onDeath(failure, this);
    });
    // Whoever asks for it hears of the failure; nobody has to.
    this.#ready.promise.catch(() => undefined);
  }

  /** Resolves to its ports; rejects with why it could not listen. */
  get ready(): Promise<readonly number[]> {
    return this.#ready.promise;
  }

  /** Hands it a reply. Those of one turn go together. */
  tell(told: SlowPathReply): void {
    if (this.#unposted.push(packReply(told)) > 1) return;
    queueMicrotask(() => {
      const packed = concat(this.#unposted);
      this.#unposted = [];
      this.#thread.postMessage(packed, [packed.buffer as ArrayBuffer]);
    });
  }

  /** Resolves when it reads the other table only. */
  async useTable(table: WorkerSetup['table'], recursionAvailable: boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#switches.push(resolve);
    this.#say({ kind: 'table', table, recursionAvailable });
    await Promise.race([promise, this.#ended.promise]);
    this.table = table;
  }

  /** Resolves when it has answered what it had and its thread is gone. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isStopping = true;
    this.#say({ kind: 'drain', timeoutMs });
    const timer = setTimeout(() => void this.#thread.terminate(), timeoutMs + hangsAfterMs);
    await this.#ended.promise;
    clearTimeout(timer);
  }

  /** Resolves when its thread is gone, whatever it had to answer. */
  stop(): Promise<void> {
    return this.drain(0);
  }

  #say(message: ToWorker): void {
    this.#thread.postMessage(message);
  }

  #hear(message: FromWorker): void {
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
