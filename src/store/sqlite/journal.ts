import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import type { Worker } from 'node:worker_threads';

import { messageOf } from '../../api/error-message.ts';
import { startThread } from '../../machine/thread.ts';
import { setTimeout } from '../../machine/timers.ts';
import { StoreUnavailableError } from '../errors.ts';
import type { Journal } from '../embedded.ts';
import type { Change, StoreStatus } from '../store.ts';
import { isFatal, openError, writeError } from './failures.ts';
import type { Failure, Opened, Reply, Request, Rows, WorkerOptions } from './protocol.ts';
import { rowId } from './protocol.ts';

/** The thread only writes, so its garbage is short-lived. */
const resourceLimits = { maxYoungGenerationSizeMb: 8 };

/** Backoff after a failure. */
const retryMs = 1000;
const maxRetryMs = 10_000;

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * A journal in an SQLite file. A worker thread writes it, so that syncing never blocks the event loop.
 *
 * ```
 * writing ─ disk full ──→ failing: commits are attempted, and a probe every second
 *    │                       └─ one succeeds → writing
 *    └─ any other error → lost: the thread ends, commits reject; every 1 to 10 s a new thread reopens the file,
 *                            └─ removes unacknowledged writes → writing
 * ```
 */
export class SqliteJournal implements Journal {
  readonly #options: WorkerOptions;
  #worker: Worker | undefined;
  #append: (Waiter & { readonly revision: number }) | undefined;
  #compactions: (Waiter & { readonly revision: number })[] = [];
  /** The last durable revision, and the last attempted one. */
  #durable: number;
  #attempted: number;
  /** The current failure. */
  #failure: Failure | undefined;
  #retry: NodeJS.Timeout | undefined;
  #retries = 0;
  #reopening: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  private constructor(options: WorkerOptions, worker: Worker, revision: number) {
    this.#options = options;
    this.#durable = this.#attempted = revision;
    this.#attach(worker);
  }

  /** Opens a file in a worker; `onRows` receives the rows of the log in order. */
  static async open(
    options: WorkerOptions,
    onRows: (rows: Rows) => void,
  ): Promise<{ readonly journal: SqliteJournal; readonly opened: Opened }> {
    const worker = startWorker(options);
    const opened = await openOutcome(worker, onRows);
    if (!('type' in opened)) throw openError(options.file, opened);
    return { journal: new SqliteJournal(options, worker, opened.revision), opened };
  }

  get failure(): StoreStatus['failure'] {
    const failure = this.#failure;
    if (failure === undefined) return undefined;
    return { message: this.#error(failure).message, isFatal: isFatal(failure) };
  }

  append(changes: readonly Change[]): Promise<void> {
    if (this.#worker === undefined) return Promise.reject(this.#error());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const revision = changes.at(-1)?.revision ?? this.#durable;
    this.#attempted = revision;
    this.#append = { revision, resolve, reject };
    this.#send({ type: 'append', rows: rowsOf(changes) });
    return promise;
  }

  compact(revision: number): Promise<void> {
    if (this.#worker === undefined) return Promise.reject(this.#error());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#compactions.push({ revision, resolve, reject });
    this.#send({ type: 'compact', revision });
    return promise;
  }

  async size(): Promise<number> {
    const { file } = this.#options;
    const [main, log] = await Promise.all([bytesOf(file), bytesOf(`${file}-wal`)]);
    return main + log;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    clearTimeout(this.#retry);
    await this.#reopening;
    if (this.#worker === undefined) return;
    const exit = once(this.#worker, 'exit');
    this.#send({ type: 'close' });
    await exit;
  }

  #attach(worker: Worker): void {
    this.#worker = worker;
    worker.on('message', (reply: Reply) => this.#receive(reply));
    worker.on('error', (error) => this.#fail({ result: undefined, message: String(error) }));
    worker.on('exit', () => this.#handleExit(worker));
    // An idle store does not keep the process running: all acknowledged writes are durable.
    worker.unref();
  }

  #send(request: Request): void {
    this.#worker?.ref();
    this.#worker?.postMessage(request);
  }

  #receive(reply: Reply): void {
    switch (reply.type) {
      case 'appended':
        this.#succeed();
        this.#durable = this.#append?.revision ?? this.#durable;
        this.#takeAppend()?.resolve();
        break;
      case 'probed':
        this.#succeed();
        break;
      case 'failed-to-append':
        this.#fail(reply.failure);
        break;
      case 'compacted':
        for (const { resolve } of this.#takeCompactions(reply.revision)) resolve();
        break;
      case 'failed-to-compact':
        if (isFatal(reply.failure)) this.#fail(reply.failure);
        else this.#failCompactions(reply.failure);
        break;
      case 'loaded':
      case 'opened':
      case 'failed-to-open':
        throw new Error(`bug: the worker sent ${reply.type} after it was open`);
    }
    const isIdle = this.#append === undefined && this.#compactions.length === 0 && this.#closed === undefined;
    if (isIdle) this.#worker?.unref();
  }

  #succeed(): void {
    this.#failure = undefined;
    this.#retries = 0;
    clearTimeout(this.#retry);
    this.#retry = undefined;
  }

  /** Rejects all waiting operations and schedules a retry. */
  #fail(failure: Failure): void {
    this.#failure = failure;
    this.#takeAppend()?.reject(this.#error(failure));
    if (isFatal(failure)) {
      this.#worker = undefined; // the worker closes the file and exits
      this.#failCompactions(failure);
    }
    this.#retryLater();
  }

  #retryLater(): void {
    if (this.#closed !== undefined || this.#retry !== undefined) return;
    const delay = Math.min(retryMs * 2 ** Math.max(0, this.#retries - 5), maxRetryMs);
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#retries++;
      if (this.#worker !== undefined) this.#send({ type: 'probe' });
      else this.#reopening ??= this.#reopen().finally(() => (this.#reopening = undefined));
    }, delay);
    this.#retry.unref();
  }

  /** The worker exited without reporting an error, or after close. */
  #handleExit(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    if (this.#closed === undefined) {
      this.#fail({ result: undefined, message: 'the writing thread has exited' });
    } else {
      const closed = new StoreUnavailableError('the store is closed');
      this.#takeAppend()?.reject(closed);
      for (const { reject } of this.#takeCompactions(Infinity)) reject(closed);
    }
  }

  async #reopen(): Promise<void> {
    const resume = { revision: this.#durable, attempted: this.#attempted };
    const worker = startWorker({ ...this.#options, resume });
    const outcome = await openOutcome(worker, () => undefined);
    if ('type' in outcome) {
      this.#attach(worker);
      this.#succeed();
    } else {
      this.#fail(outcome);
    }
  }

  #takeAppend(): Waiter | undefined {
    const append = this.#append;
    this.#append = undefined;
    return append;
  }

  #takeCompactions(revision: number): readonly Waiter[] {
    const done = this.#compactions.filter((waiting) => waiting.revision <= revision);
    this.#compactions = this.#compactions.filter((waiting) => waiting.revision > revision);
    return done;
  }

  #failCompactions(failure: Failure): void {
    for (const { reject } of this.#takeCompactions(Infinity)) reject(this.#error(failure));
  }

  #error(failure = this.#failure ?? { result: undefined, message: 'it is closed' }): StoreUnavailableError {
    return writeError(this.#options.file, failure);
  }
}

function startWorker(workerData: WorkerOptions): Worker {
  // The extension differs between source and build.
  const program = new URL('./worker.ts', import.meta.url);
  return startThread(program, { workerData, resourceLimits });
}

/** Waits until the worker has opened the file or failed to. */
async function openOutcome(worker: Worker, onRows: (rows: Rows) => void): Promise<Opened | Failure> {
  const { promise, resolve } = Promise.withResolvers<Opened | Failure>();
  const onMessage = (reply: Reply): void => {
    if (reply.type === 'loaded') onRows(reply.rows);
    if (reply.type === 'opened') resolve(reply);
    if (reply.type === 'failed-to-open') resolve(reply.failure);
  };
  const onError = (error: unknown): void => resolve({ result: undefined, message: messageOf(error) });
  const onExit = (): void => resolve({ result: undefined, message: 'the reading thread has exited' });
  worker.on('message', onMessage);
  worker.on('error', onError);
  worker.on('exit', onExit);
  try {
    return await promise;
  } finally {
    worker.off('message', onMessage);
    worker.off('error', onError);
    worker.off('exit', onExit);
  }
}

function rowsOf(changes: readonly Change[]): Rows {
  const rows: Rows = [];
  let [revision, index] = [0, 0];
  for (const change of changes) {
    index = change.revision === revision ? index + 1 : 0;
    ({ revision } = change);
    const { entry, previous, repairs } = change;
    const replaced = previous?.revision ?? repairs ?? 0;
    rows.push(rowId(revision, index), change.key, entry?.value ?? null, entry?.created ?? 0, replaced);
  }
  return rows;
}

async function bytesOf(file: string): Promise<number> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined; // the write-ahead log does not exist before the first write
    throw error;
  });
  return found?.size ?? 0;
}
