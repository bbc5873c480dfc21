import { randomInt } from 'node:crypto';

/** A rate limit. */
export interface RateLimit {
  readonly perSecond: number;
  /** Allowed at once after a pause; one second's worth by default. */
  readonly burst?: number;
}

const cells = 8192;

/**
 * Limits the rate per client in constant memory. Clients are hashed to two cells under a secret, and a client is limited
 * only if both of its cells are full, so that few clients suffer from a flood by another.
 */
export class ClientLimiter {
  readonly #intervalMs: number;
  readonly #burstMs: number;
  readonly #seed: number = randomInt(2 ** 32) | 0;
  /** Cell → the time at which it is empty. */
  readonly #emptyAt = new Float64Array(cells);

  constructor({ perSecond, burst = perSecond }: RateLimit) {
    this.#intervalMs = 1000 / perSecond;
    // Slightly more than the burst, since rounding must not reject its last element.
    this.#burstMs = (burst + 0.001) * this.#intervalMs;
  }

  /** Counts a request of a client, given as a 32-bit number; returns whether it is allowed. */
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
