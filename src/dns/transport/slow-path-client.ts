import { concat } from '../../dnswire/record.ts';
import type { Counters } from './counters.ts';
import type { RawClient } from './slow-path-messages.ts';
import { packQuery, unpackReplies } from './slow-path-messages.ts';
import type { ClientLimiter } from './limiter.ts';

/** Called with each message of a reply; without a message if the query is dropped. */
export type OnReply = (message: Uint8Array | undefined, isLast: boolean) => void;

export interface SlowPathClientOptions {
  /** Posts packed queries to the main thread. */
  readonly post: (packed: Uint8Array) => void;
  /** The maximum number of outstanding queries; more are dropped. */
  readonly maxOutstanding: number;
  readonly limiter: ClientLimiter | undefined;
  readonly counters: Counters;
}

/** The slow-path queries of one worker. */
export class SlowPathClient {
  readonly #options: SlowPathClientOptions;
  /** Token → handler of its replies. */
  readonly #waiting = new Map<number, OnReply>();
  #unposted: Uint8Array[] = [];
  #nextToken = 1;
  #onEmpty: (() => void) | undefined;

  constructor(options: SlowPathClientOptions) {
    this.#options = options;
  }

  get outstanding(): number {
    return this.#waiting.size;
  }

  /** Copies a query, to be posted with the next `flush`. Returns false if it was dropped. */
  send(query: Uint8Array, client: RawClient, onReply: OnReply): boolean {
    const { maxOutstanding, limiter, counters } = this.#options;
    const isAllowed = limiter === undefined || limiter.allows(clientOf(client.address), performance.now());
    if (!isAllowed || this.#waiting.size >= maxOutstanding) {
      counters.count('shed');
      return false;
    }
    counters.count('slowPath');
    const token = this.#nextToken;
    this.#nextToken = (token + 1) >>> 0;
    this.#waiting.set(token, onReply);
    this.#unposted.push(packQuery(token, client, query));
    return true;
  }

  /** Posts the queries since the last call. */
  flush(): void {
    if (this.#unposted.length === 0) return;
    const packed = concat(this.#unposted);
    this.#unposted = [];
    this.#options.post(packed);
  }

  /** Handles replies of the main thread. */
  replied(packed: Uint8Array): void {
    for (const { token, message, isLast } of unpackReplies(packed)) {
      const onReply = this.#waiting.get(token);
      if (isLast) this.#waiting.delete(token);
      onReply?.(message, isLast);
    }
    if (this.#waiting.size === 0) this.#onEmpty?.();
  }

  /** Resolves when no query is outstanding. */
  async settled(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onEmpty = resolve;
    await promise;
  }
}

/** A number for a client: its address, or the /64 of an IPv6 address. */
export function clientOf(address: Uint8Array): number {
  let client = 0;
  const bytes = address.length === 4 ? 4 : 8;
  for (let at = 0; at < bytes; at++) client = (Math.imul(client, 31) + (address[at] ?? 0)) | 0;
  return client;
}
