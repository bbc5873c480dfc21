import { randomInt } from 'node:crypto';

/** How often something may happen. */
export interface RateLimit {
  readonly perSecond: number;
  /** How many may come at once after a pause; a second's worth by default. */
  readonly burst?: number;
}

const cells = 8192;

/**
 * Limits a rate per client in memory that does not grow with the number of clients. Clients are hashed to two cells under
 * a secret; one is limited only if both of its cells are full, so few suffer for another's flood.
 */
export class ClientLimiter {
  readonly #intervalMs: number;
  readonly #burstMs: number;
  readonly #seed: number = randomInt(2 ** 32) | 0;
  /** Cell → when it is empty again. */
  readonly #emptyAt = new Float64Array(cells);

  constructor({ perSecond, burst = perSecond }: RateLimit) {
    this.#intervalMs = 1000 / perSecond;
    // A hair more than the burst: sums of times are rounded, and the last of a burst must not fall to that.
    this.#burstMs = (burst + 0.001) * this.#intervalMs;
  }

  /** Whether a client, given as any number of 32 bits, may once more. */
  allows(client: number, nowMs: number): boolean {
    const first = mix(client ^ this.#seed);
    const one = first & (cells - 1);
    const other = (first >>> 16) & (cells - 1);
    const oneAt = Math.max(this.#emptyAt[one] ?? 0, nowMs) + this.#intervalMs;
    const otherAt = Math.max(this.#emptyAt[other] ?? 0, nowMs) + this.#intervalMs;
    if (oneAt - nowMs > this.#burstMs && otherAt - nowMs > this.#burstMs) return false;
    this.#emptyAt[one] = Math.min(oneAt, nowMs + this.#burstMs);
    this.#emptyAt[other] = Math.min(otherAt, nowMs + this.#burstMs);
    return true;
  }
}

/** Spreads 32 bits over 32 bits (the finaliser of MurmurHash3). */
function mix(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
