import type { QueryClient, SlowPath } from '../prepared.ts';

export interface SlowPathQueueOptions {
  readonly slowPath: SlowPath;
  /** How many questions are worked on at once; 1024 by default. */
  readonly maxRunning?: number;
  /** How many wait for that; 2048 by default. The oldest is given up for a new one: its client has likely gone. */
  readonly maxWaiting?: number;
  /** How many one address may have running and waiting; 256 by default. */
  readonly maxPerClient?: number;
  /** Told what the slow path threw, which it promises not to do. */
  readonly onError: (error: unknown) => void;
}

interface Waiting {
  readonly query: Uint8Array;
  readonly client: QueryClient;
  readonly done: (messages: readonly Uint8Array[]) => void;
}

/**
 * Questions for the slow path, so many at a time. Under overload the newest is answered first, since the oldest will be
 * answered too late anyway, and nobody can take all the room.
 */
export class SlowPathQueue {
  readonly #slowPath: SlowPath;
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  readonly #maxPerClient: number;
  readonly #onError: (error: unknown) => void;
  readonly #waiting: Waiting[] = [];
  /** Address → how many it has running and waiting. */
  readonly #clients = new Map<string, number>();
  #running = 0;
  /** Questions given up without an answer. */
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

  /** Has a question answered; `done` is called once, with no messages if it is given up. */
  add(query: Uint8Array, client: QueryClient, done: (messages: readonly Uint8Array[]) => void): void {
    const mine = this.#clients.get(client.address) ?? 0;
    if (mine >= this.#maxPerClient) return this.#drop(done);
    this.#clients.set(client.address, mine + 1);
    const waiting = { query, client, done };
    if (this.#running < this.#maxRunning) return this.#start(waiting);
    this.#waiting.push(waiting);
    const oldest = this.#waiting.length > this.#maxWaiting ? this.#waiting.shift() : undefined;
    if (oldest === undefined) return;
    this.#leave(oldest.client);
    this.#drop(oldest.done);
  }

  #start({ query, client, done }: Waiting): void {
    this.#running++;
    // Nobody waits for this promise: it ends in `done`, whatever happens.
    void this.#run(query, client).then((messages) => {
      this.#running--;
      this.#leave(client);
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

  #leave({ address }: QueryClient): void {
    const left = (this.#clients.get(address) ?? 1) - 1;
    if (left === 0) this.#clients.delete(address);
    else this.#clients.set(address, left);
  }

  #drop(done: (messages: readonly Uint8Array[]) => void): void {
    this.dropped++;
    done([]);
  }
}
