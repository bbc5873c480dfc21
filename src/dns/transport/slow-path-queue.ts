import type { QueryClient, SlowPath } from '../prepared.ts';

export interface SlowPathQueueOptions {
  readonly slowPath: SlowPath;
  /** Concurrent queries; 1024 by default. */
  readonly maxRunning?: number;
  /** Queued queries; 2048 by default. A new one replaces the oldest, whose client has probably timed out. */
  readonly maxWaiting?: number;
  /** Concurrent and queued queries of one address; 256 by default. */
  readonly maxPerClient?: number;
  /** Called with errors of the slow path, which should never reject. */
  readonly onError: (error: unknown) => void;
}

interface Waiting {
  readonly query: Uint8Array;
  readonly client: QueryClient;
  readonly done: (messages: readonly Uint8Array[]) => void;
}

/**
 * Runs slow-path queries with bounded concurrency. Under overload the newest is next, since replies to the oldest would be
 * too late anyway, and no client can take all capacity.
 */
export class SlowPathQueue {
  readonly #slowPath: SlowPath;
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  readonly #maxPerClient: number;
  readonly #onError: (error: unknown) => void;
  readonly #waiting: Waiting[] = [];
  /** Address → its concurrent and queued queries. */
  readonly #clients = new Map<string, number>();
  #running = 0;
  /** Number of dropped queries. */
  dropped = 0;

  constructor({ slowPath, maxRunning = 1024, maxWaiting = 2048, maxPerClient = 256, onError }: SlowPathQueueOptions) {
    this.#slowPath = slowPath;
    this.#maxRunning = maxRunning;
    this.#maxWaiting = maxWaiting;
    this.#maxPerClient = maxPerClient;
    this.#onError = onError;
  }

  get size(): number {
    return this.#running + this.#waiting.length;
  }

  /** Adds a query; `done` is called once, without messages if it is dropped. */
  add(query: Uint8Array, client: QueryClient, done: (messages: readonly Uint8Array[]) => void): void {
    const ofClient = this.#clients.get(client.address) ?? 0;
    if (ofClient >= this.#maxPerClient) return this.#drop(done);
    this.#clients.set(client.address, ofClient + 1);
    const waiting = { query, client, done };
    if (this.#running < this.#maxRunning) return this.#start(waiting);
    this.#waiting.push(waiting);
    const oldest = this.#waiting.length > this.#maxWaiting ? this.#waiting.shift() : undefined;
    if (oldest === undefined) return;
    this.#release(oldest.client);
    this.#drop(oldest.done);
  }

  #start({ query, client, done }: Waiting): void {
    this.#running++;
    // Not awaited: `#run` never rejects.
    void this.#run(query, client).then((messages) => {
      this.#running--;
      this.#release(client);
      done(messages);
      const next = this.#waiting.pop();
      if (next !== undefined) this.#start(next);
    });
  }

  async #run(query: Uint8Array, client: QueryClient): Promise<readonly Uint8Array[]> {
    try {
      return await this.#slowPath(query, client);
    } catch (error) {
      this.#onError(error);
      return [];
    }
  }

  #release({ address }: QueryClient): void {
    const left = (this.#clients.get(address) ?? 1) - 1;
    if (left === 0) this.#clients.delete(address);
    else this.#clients.set(address, left);
  }

  #drop(done: (messages: readonly Uint8Array[]) => void): void {
    this.dropped++;
    done([]);
  }
}
