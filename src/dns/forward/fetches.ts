import type { Name } from '../../dnswire/data.ts';
import { labelsOf } from '../../dnswire/name.ts';
import type { CacheKey } from './cache.ts';
import { idOf } from './cache.ts';
import { ConcurrencyLimiter } from './concurrency-limiter.ts';
import type { UpstreamAnswer } from '../resolver.ts';

/** How a question found its answer: with another of its kind, by itself, or not, since there are too many. */
export type Joined =
  | { readonly state: 'joined' | 'started'; readonly answer: Promise<UpstreamAnswer> }
  | { readonly state: 'full' | 'share'; readonly answer: undefined };

/** Questions at upstreams, each once however many ask it, and a bounded number of them. */
export class Fetches {
  readonly most: number;
  readonly #seats: ConcurrencyLimiter;
  /** Question → its answer to come. */
  readonly #answers = new Map<string, Promise<UpstreamAnswer>>();

  /** `most`: how many there may be; one domain gets a quarter of them. */
  constructor(most: number) {
    this.most = most;
    this.#seats = new ConcurrencyLimiter(most, Math.ceil(most / 4));
  }

  get size(): number {
    return this.#answers.size;
  }

  has(key: CacheKey): boolean {
    return this.#answers.has(idOf(key));
  }

  /** The answer that is on its way, or the one that `start` finds, which must not reject. */
  join(key: CacheKey, start: () => Promise<UpstreamAnswer>): Joined {
    const id = idOf(key);
    const known = this.#answers.get(id);
    if (known !== undefined) return { state: 'joined', answer: known };
    const domain = domainOf(key.question.name);
    const seat = this.#seats.enter(domain);
    if (seat !== 'taken') return { state: seat, answer: undefined };
    const answer = start().finally(() => {
      this.#answers.delete(id);
      this.#seats.leave(domain);
    });
    this.#answers.set(id, answer);
    return { state: 'started', answer };
  }

  /** Resolves when all that are under way now are over. */
  async settled(): Promise<void> {
    await Promise.all(this.#answers.values());
  }
}

/**
 * What questions are counted by: a flood of random names below one domain, whose servers are slow or dead, takes its share
 * and leaves the rest to others.
 */
function domainOf(name: Name): Name {
  const labels = labelsOf(name);
  return labels.slice(labels.at(-1) === 'arpa' ? -3 : -2).join('.');
}
