import { concat } from '../../dnswire/record.ts';
import type { Counters } from './counters.ts';
import type { RawClient } from './slow-path-messages.ts';
import { packQuery, unpackReplies } from './slow-path-messages.ts';
import type { ClientLimiter } from './limiter.ts';

/** Called with each message for who asked, and once at the end without one if there was none. */
export type OnReply = (message: Uint8Array | undefined, isLast: boolean) => void;

export interface SlowPathClientOptions {
  /** Hands packed questions to the main thread. */
  readonly post: (packed: Uint8Array) => void;
  /** How many may wait for an answer; what comes above is not asked. */
  readonly maxOutstanding: number;
  readonly limiter: ClientLimiter | undefined;
  readonly counters: Counters;
}

/** The questions of one worker that the main thread is to answer. */
export class SlowPathClient {
  readonly #options: SlowPathClientOptions;
  /** Token → who waits. */
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

  /** Takes a copy of a question, to be posted with the next `flush`. False: there is too much already. */
  send(query: Uint8Array, client: RawClient, onTold: OnReply): boolean {
    const { maxOutstanding, limiter, counters } = this.#options;
    const isAllowed = limiter === undefined || limiter.allows(clientOf(client.address), performance.now());
    if (!isAllowed || this.#waiting.size >= maxOutstanding) {
      counters.count('shed');
      return false;
    }
    counters.count('asked');
    const token = this.#nextToken;
    this.#nextToken = (token + 1) >>> 0;
    this.#waiting.set(token, onTold);
    this.#unposted.push(packQuery(token, client, query));
    return true;
  }

  /** Posts what was asked since the last time. */
  flush(): void {
    if (this.#unposted.length === 0) return;
    const packed = concat(this.#unposted);
    this.#unposted = [];
    this.#options.post(packed);
  }

  /** Takes the main thread's replies. */
  replied(packed: Uint8Array): void {
    for (const { token, message, isLast } of unpackReplies(packed)) {
      const onTold = this.#waiting.get(token);
      if (isLast) this.#waiting.delete(token);
      onTold?.(message, isLast);
    }
    if (this.#waiting.size === 0) this.#onEmpty?.();
  }

  /** Resolves when nothing waits. */
  async settled(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onEmpty = resolve;
    await promise;
  }
}

/** What stands for a client: its address, an IPv6 one by its /64. */
export function clientOf(address: Uint8Array): number {
  let client = 0;
  const bytes = address.length === 4 ? 4 : 8;
  for (let at = 0; at < bytes; at++) client = (Math.imul(client, 31) + (address[at] ?? 0)) | 0;
  return client;
}
