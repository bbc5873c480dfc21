import { parseAddress } from '../../api/addresses.ts';
import { LruCache } from '../access/identity/lru-cache.ts';

/** Failed attempts per address: the burst, and the rate at which it refills. */
const burst = 200;
const perSecond = 20;
/** Addresses that are tracked; the least recently used one is evicted and then starts with a full burst. */
const maxAddresses = 4096;

interface Allowance {
  readonly left: number;
  /** When `left` was computed, in milliseconds. */
  readonly at: number;
}

/**
 * Limits the attempts per address to authenticate with credentials that are not cached: checking a signature costs more
 * than sending one. A successful attempt is refunded, and cached credentials are never counted.
 */
export class AuthRateLimiter {
  readonly #clock: () => number;
  readonly #byAddress = new LruCache<string, Allowance>(maxAddresses);

  /** `clock` returns monotonic milliseconds. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  /** Takes an attempt of the address; false if none is left. */
  take(address: string): boolean {
    const left = this.#add(address, 0);
    if (left < 1) return false;
    this.#add(address, -1);
    return true;
  }

  /** Returns the attempt after the credentials proved valid. */
  refund(address: string): void {
    this.#add(address, 1);
  }

  #add(address: string, change: number): number {
    const network = networkOf(address);
    const now = this.#clock();
    const { left, at } = this.#byAddress.get(network) ?? { left: burst, at: now };
    const next = Math.min(burst, left + ((now - at) / 1000) * perSecond + change);
    this.#byAddress.set(network, { left: next, at: now });
    return next;
  }
}

/** The network of one client: an IPv4 address or an IPv6 /64. */
function networkOf(text: string): string {
  const address = parseAddress(text);
  return address?.family === 'IPv6' ? String(address.value >> 64n) : text;
}
