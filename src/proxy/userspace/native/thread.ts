import type { Worker } from 'node:worker_threads';

import { startThread } from '../../../machine/thread.ts';
import { Counters } from '../counters.ts';
import type { UserspaceLimits } from '../options.ts';
import type { ThreadRequest } from './protocol.ts';

const program = new URL('./worker.ts', import.meta.url);

/** A relay thread, as its owner sees it. */
export class RelayThread {
  readonly counters = new Counters();
  readonly #worker: Worker;
  /** Requests in progress, by id. */
  readonly #requests = new Map<number, PromiseWithResolvers<void>>();
  readonly #onExit: (error: Error) => void;
  #nextId = 1;
  #isStopping = false;
  #failure: Error | undefined;

  constructor(limits: UserspaceLimits, onExit: (error: Error) => void) {
    this.#onExit = onExit;
    this.#worker = startThread(program);
    this.#worker.on('message', (id: number) => {
      this.#requests.get(id)?.resolve();
      this.#requests.delete(id);
    });
    this.#worker.on('error', (error: unknown) => {
      this.#failure = error instanceof Error ? error : new Error(String(error));
    });
    this.#worker.on('exit', () => this.#ended());
    // A failure rejects the next request, too.
    this.send({ kind: 'setup', counters: this.counters.memory, limits }).catch(() => {});
  }

  /** Sends a request; resolves when it is done. Requests are handled in order. */
  send(task: ThreadRequest['task']): Promise<void> {
    const done = Promise.withResolvers<void>();
    const id = this.#nextId++;
    this.#requests.set(id, done);
    this.#worker.postMessage({ id, task } satisfies ThreadRequest);
    if (this.#failure !== undefined) done.reject(this.#failure);
    return done.promise;
  }

  /** Ends the thread when its connections have ended, or after `drainMs`. */
  async stop(drainMs: number): Promise<void> {
    this.#isStopping = true;
    await this.send({ kind: 'stop', drainMs }).catch(() => {});
    await this.#worker.terminate();
  }

  #ended(): void {
    this.#failure ??= new Error('a relay thread ended');
    for (const { reject } of this.#requests.values()) reject(this.#failure);
    this.#requests.clear();
    if (!this.#isStopping) this.#onExit(this.#failure);
  }
}
