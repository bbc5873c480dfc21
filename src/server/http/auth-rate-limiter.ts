import { parseAddress } from '../../api/addresses.ts';
import { Recent } from '../access/identity/recent.ts';

/** How often one address may show wrong credentials: this often at once, and then so often a second. */
const atOnce = 200;
const perSecond = 20;
/** Addresses that are remembered; who comes back after so many others begins anew. */
const mostAddresses = 4096;

interface Allowance {
  readonly left: number;
  /** When that was, in milliseconds. */
  readonly at: number;
}

/**
 * Bounds how often each address may have credentials looked at that are not known to be right: a signature costs more to
 * check than to make up. Who is right gets the attempt back, and who is known is never counted.
 */
export class AuthRateLimiter {
  readonly #clock: () => number;
  readonly #byAddress = new Recent<string, Allowance>(mostAddresses);

  /** `clock` is in milliseconds and never goes back. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  /** Whether an address may try once more. */
  take(address: string): boolean {
    const left = this.#add(address, 0);
    if (left < 1) return false;
    this.#add(address, -1);
    return true;
  }

  /** The credentials were right. */
  refund(address: string): void {
    this.#add(address, 1);
  }

  #add(address: string, change: number): number {
    const network = networkOf(address);
    const now = this.#clock();
    const { left, at } = this.#byAddress.get(network) ?? { left: atOnce, at: now };
    const next = Math.min(atOnce, left + ((now - at) / 1000) * perSecond + change);
    this.#byAddress.set(network, { left: next, at: now });
    return next;
  }
}

/** What one client has: an address, of IPv6 a /64. */
function networkOf(text: string): string {
  const address = parseAddress(text);
  return address?.family === 'IPv6' ? String(address.value >> 64n) : text;
}
