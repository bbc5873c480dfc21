import { concat } from '../../dnswire/record.ts';
import type { Counters } from './counters.ts';
import type { RawAsker } from './exchange.ts';
import { packAsk, unpackTold } from './exchange.ts';
import type { ClientLimiter } from './limiter.ts';

/** Called with each message for who asked, and once at the end without one if there was none. */
export type OnTold = (message: Uint8Array | undefined, isLast: boolean) => void;

export interface AsksOptions {
  /** Hands packed questions to the main thread. */
  readonly post: (packed: Uint8Array) => void;
  /** How many may wait for an answer; what comes above is not asked. */
  readonly maxOutstanding: number;
  readonly limiter: ClientLimiter | undefined;
  readonly counters: Counters;
}

/** The questions of one worker that the main thread is to answer. */
export class Asks {
  readonly #options: AsksOptions;
  /** Token → who waits. */
  readonly #waiting = new Map<number, OnTold>();
  #unposted: Uint8Array[] = [];
  #nextToken = 1;
  #onEmpty: (() => void) | undefined;

  constructor(options: AsksOptions) {
    this.#options = options;
  }

  get outstanding(): number {
    return this.#waiting.size;
  }

  /** Takes a copy of a question, to be posted with the next `flush`. False: there is too much already. */
  ask(query: Uint8Array, asker: RawAsker, onTold: OnTold): boolean {
    const { maxOutstanding, limiter, counters } = this.#options;
    const isAllowed = limiter === undefined || limiter.allows(clientOf(asker.address), performance.now());
    if (!isAllowed || this.#waiting.size >= maxOutstanding) {
      counters.count('shed');
      return false;
    }
    counters.count('asked');
    const token = this.#nextToken;
    this.#nextToken = (token + 1) >>> 0;
    this.#waiting.set(token, onTold);
    this.#unposted.push(packAsk(token, asker, query));
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
  told(packed: Uint8Array): void {
    for (const { token, message, isLast } of unpackTold(packed)) {
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
