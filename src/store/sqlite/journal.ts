import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { extname } from 'node:path';
import type { Worker } from 'node:worker_threads';

import { startThread } from '../../machine/thread.ts';
import { DataDirectoryError, StoreUnavailableError } from '../errors.ts';
import type { Journal } from '../journal.ts';
import type { Change } from '../store.ts';
import { openError, writeError } from './failures.ts';
import type { Failure, Reply, Request, Rows, WorkerOptions } from './protocol.ts';
import { rowId } from './protocol.ts';

/** The thread only writes; its garbage is short-lived. */
const resourceLimits = { maxYoungGenerationSizeMb: 8 };

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** A journal in an SQLite file, written by a worker thread so that syncing never holds up the event loop. */
export class SqliteJournal implements Journal {
  readonly #file: string;
  readonly #worker: Worker;
  #append: Waiting | undefined;
  #compactions: (Waiting & { readonly revision: number })[] = [];
  /** Why the worker is gone, once it is. */
  #lost: Failure | undefined;
  #closed: Promise<void> | undefined;

  private constructor(file: string, worker: Worker) {
    this.#file = file;
    this.#worker = worker;
    worker.on('message', (reply: Reply) => this.#receive(reply));
    worker.on('error', (error) => this.#lose(String(error)));
    worker.on('exit', () => this.#lose('the thread that writes has ended'));
    // An idle store does not keep a program running: everything acknowledged is on disk.
    worker.unref();
  }

  /** Starts the worker on a file; `onRows` gets the rows of the log, in order. Resolves with the horizon. */
  static async open(
    options: WorkerOptions,
    onRows: (rows: Rows) => void,
  ): Promise<{ readonly journal: SqliteJournal; readonly compacted: number }> {
    // The same name in development and when built.
    const program = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);
    const worker = startThread(program, { workerData: options, resourceLimits });
    const compacted = await loaded(worker, options.file, onRows);
    return { journal: new SqliteJournal(options.file, worker), compacted };
  }

  append(changes: readonly Change[]): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (this.#lost !== undefined) return Promise.reject(writeError(this.#file, this.#lost));
    this.#append = { resolve, reject };
    this.#worker.ref();
    this.#send({ type: 'append', rows: rowsOf(changes) });
    return promise;
  }

  compact(revision: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (this.#lost !== undefined) return Promise.reject(writeError(this.#file, this.#lost));
    this.#compactions.push({ revision, resolve, reject });
    this.#worker.ref();
    this.#send({ type: 'compact', revision });
    return promise;
  }

  async size(): Promise<number> {
    const [main, log] = await Promise.all([bytesOf(this.#file), bytesOf(`${this.#file}-wal`)]);
    return main + log;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    if (this.#lost !== undefined) return;
    this.#worker.ref();
    const exit = once(this.#worker, 'exit');
    this.#send({ type: 'close' });
    await exit;
  }

  #send(request: Request): void {
    this.#worker.postMessage(request);
  }

  #receive(reply: Reply): void {
    switch (reply.type) {
      case 'appended':
        this.#takeAppend()?.resolve();
        break;
      case 'failed-to-append':
        this.#takeAppend()?.reject(writeError(this.#file, reply.failure));
        break;
      case 'compacted':
        for (const { resolve } of this.#takeCompactions(reply.revision)) resolve();
        break;
      case 'failed-to-compact':
        this.#failCompactions(reply.failure);
        break;
      case 'loaded':
      case 'opened':
      case 'failed-to-open':
        throw new Error(`bug: the worker said ${reply.type} after it was open`);
    }
    const isIdle = this.#append === undefined && this.#compactions.length === 0 && this.#closed === undefined;
    if (isIdle) this.#worker.unref();
  }

  #lose(message: string): void {
    this.#lost ??= { result: undefined, message };
    this.#takeAppend()?.reject(writeError(this.#file, this.#lost));
    if (this.#closed === undefined) this.#failCompactions(this.#lost);
    else
      for (const { reject } of this.#takeCompactions(Infinity))
        reject(new StoreUnavailableError('the store is closed'));
  }

  #takeAppend(): Waiting | undefined {
    const append = this.#append;
    this.#append = undefined;
    return append;
  }

  #takeCompactions(revision: number): readonly Waiting[] {
    const done = this.#compactions.filter((waiting) => waiting.revision <= revision);
    this.#compactions = this.#compactions.filter((waiting) => waiting.revision > revision);
    return done;
  }

  #failCompactions(failure: Failure): void {
    for (const { reject } of this.#takeCompactions(Infinity)) reject(writeError(this.#file, failure));
  }
}

/** Waits until the worker has read the whole log. */
async function loaded(worker: Worker, file: string, onRows: (rows: Rows) => void): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const onMessage = (reply: Reply): void => {
    if (reply.type === 'loaded') onRows(reply.rows);
    if (reply.type === 'opened') resolve(reply.compacted);
    if (reply.type === 'failed-to-open') reject(openError(file, reply.failure));
  };
  const onExit = (): void => reject(new DataDirectoryError(`${file} cannot be read: the thread that reads has ended`));
  worker.on('message', onMessage);
  worker.on('error', reject);
  worker.on('exit', onExit);
  try {
    return await promise;
  } finally {
    worker.off('message', onMessage);
    worker.off('error', reject);
    worker.off('exit', onExit);
  }
}

function rowsOf(changes: readonly Change[]): Rows {
  const rows: Rows = [];
  let [revision, index] = [0, 0];
  for (const change of changes) {
    index = change.revision === revision ? index + 1 : 0;
    ({ revision } = change);
    const { entry, previous } = change;
    rows.push(rowId(revision, index), change.key, entry?.value ?? null, entry?.created ?? 0, previous?.revision ?? 0);
  }
  return rows;
}

async function bytesOf(file: string): Promise<number> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined; // there is no write-ahead log before the first write
    throw error;
  });
  return found?.size ?? 0;
}
