import type { Worker } from 'node:worker_threads';

import { startThread } from '../../../machine/thread.ts';
import { Counters } from '../counters.ts';
import type { UserspaceLimits } from '../options.ts';
import type { Order } from './protocol.ts';

const program = new URL('./worker.ts', import.meta.url);

/** A thread that relays, from the side of its owner. */
export class RelayThread {
  readonly counters = new Counters();
  readonly #worker: Worker;
  /** Orders that are not done yet. */
  readonly #orders = new Map<number, PromiseWithResolvers<void>>();
  readonly #onDeath: (error: Error) => void;
  #nextId = 1;
  #isStopping = false;
  #failure: Error | undefined;

  constructor(limits: UserspaceLimits, onDeath: (error: Error) => void) {
    this.#onDeath = onDeath;
    this.#worker = startThread(program);
    this.#worker.on('message', (id: number) => {
      this.#orders.get(id)?.resolve();
      this.#orders.delete(id);
    });
    this.#worker.on('error', (error: unknown) => {
      this.#failure = error instanceof Error ? error : new Error(String(error));
    });
    this.#worker.on('exit', () => this.#ended());
    // Whoever waits for what comes next hears of it.
    this.tell({ kind: 'setup', counters: this.counters.memory, limits }).catch(() => {});
  }

  /** Tells it something; resolves when that is done. Orders are done in the order they are given. */
  tell(task: Order['task']): Promise<void> {
    const done = Promise.withResolvers<void>();
    const id = this.#nextId++;
    this.#orders.set(id, done);
    this.#worker.postMessage({ id, task } satisfies Order);
    if (this.#failure !== undefined) done.reject(this.#failure);
    return done.promise;
  }

  /** Ends it, after its connections or the time for them. */
  async stop(drainMs: number): Promise<void> {
    this.#isStopping = true;
    await this.tell({ kind: 'stop', drainMs }).catch(() => {});
    await this.#worker.terminate();
  }

  #ended(): void {
    this.#failure ??= new Error('a thread of the proxy ended');
    for (const { reject } of this.#orders.values()) reject(this.#failure);
    this.#orders.clear();
    if (!this.#isStopping) this.#onDeath(this.#failure);
  }
}
