import type { Name } from '../../dnswire/data.ts';
import { labelsOf } from '../../dnswire/name.ts';
import type { CacheKey } from './cache.ts';
import { idOf } from './cache.ts';
import { ConcurrencyLimiter } from './concurrency-limiter.ts';
import type { UpstreamAnswer } from '../resolver.ts';

/** How a query got its answer: with an identical one, by itself, or not at all at the limit. */
export type FlightResult =
  | { readonly state: 'joined' | 'started'; readonly answer: Promise<UpstreamAnswer> }
  | { readonly state: 'full' | 'key-full'; readonly answer: undefined };

/** Queries at upstreams: identical ones are sent once, and their number is bounded. */
export class SingleFlight {
  readonly limit: number;
  readonly #limiter: ConcurrencyLimiter;
  /** Query → its pending answer. */
  readonly #answers = new Map<string, Promise<UpstreamAnswer>>();

  /** `limit`: the maximum number of queries; a domain may have a quarter of them. */
  constructor(limit: number) {
    this.limit = limit;
    this.#limiter = new ConcurrencyLimiter(limit, Math.ceil(limit / 4));
  }

  get size(): number {
    return this.#answers.size;
  }

  has(key: CacheKey): boolean {
    return this.#answers.has(idOf(key));
  }

  /** Joins the identical query in flight, or starts one; `start` must not reject. */
  join(key: CacheKey, start: () => Promise<UpstreamAnswer>): FlightResult {
    const id = idOf(key);
    const known = this.#answers.get(id);
    if (known !== undefined) return { state: 'joined', answer: known };
    const domain = domainOf(key.question.name);
    const slot = this.#limiter.acquire(domain);
    if (slot !== 'acquired') return { state: slot, answer: undefined };
    const answer = start().finally(() => {
      this.#answers.delete(id);
      this.#limiter.release(domain);
    });
    this.#answers.set(id, answer);
    return { state: 'started', answer };
  }

  /** Resolves when all queries in flight have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#answers.values());
  }
}

/**
 * The domain by which queries are limited: a flood of random names below one domain with slow servers leaves capacity for
 * others.
 */
function domainOf(name: Name): Name {
  const labels = labelsOf(name);
  return labels.slice(labels.at(-1) === 'arpa' ? -3 : -2).join('.');
}
