import { bitsOf, contains, parseAddress, parseCidr, printAddress, printCidr } from '../../api/addresses.ts';
import type { Cidr, IpFamily } from '../../api/addresses.ts';
import { BandedPool, staticBand } from './banded-pool.ts';
import type { Random } from './banded-pool.ts';

/** Addresses beyond this offset in an IPv6 range are allocated only on request. */
const nearby = 2 ** 48;

/** The addresses of one service CIDR, without the first address and without the last one of an IPv4 range. */
export class AddressPool {
  /** In canonical form. */
  readonly cidr: string;
  readonly family: IpFamily;
  /** The first address of the range. */
  readonly networkAddress: string;
  readonly #range: Cidr;
  /** The first address that can be allocated, and the number of such addresses. */
  readonly #first: bigint;
  readonly #usable: number;
  readonly #near: BandedPool;
  readonly #far = new Set<string>();

  /** Throws a `RangeError` if `cidr` cannot be a service CIDR. */
  constructor(cidr: string) {
    this.#range = parseServiceCidr(cidr);
    const { family, network, prefixLength } = this.#range;
    const size = 2 ** (bitsOf(family) - prefixLength);
    this.cidr = printCidr(this.#range);
    this.family = family;
    this.networkAddress = printAddress(family, network);
    this.#first = network + 1n;
    this.#usable = size - (family === 'IPv4' ? 2 : 1);
    this.#near = new BandedPool(Math.min(this.#usable, nearby), staticBand(size, 16, 256));
  }

  get used(): number {
    return this.#near.used + this.#far.size;
  }

  get free(): number {
    return this.#usable - this.used;
  }

  /** Whether `ip` is in the CIDR and can be allocated. */
  contains(ip: string): boolean {
    return this.#indexOf(ip) !== undefined;
  }

  /** Whether `ip` is allocated. */
  has(ip: string): boolean {
    const index = this.#indexOf(ip);
    return index !== undefined && (index < this.#near.size ? this.#near.has(index) : this.#far.has(ip));
  }

  /** Allocates a specific address in canonical form; false if it is allocated or outside the range. */
  allocate(ip: string): boolean {
    const index = this.#indexOf(ip);
    if (index === undefined) return false;
    if (index < this.#near.size) return this.#near.allocate(index);
    if (this.#far.has(ip)) return false;
    this.#far.add(ip);
    return true;
  }

  /** Releases an address; false if it was not allocated. */
  release(ip: string): boolean {
    const index = this.#indexOf(ip);
    if (index === undefined) return false;
    return index < this.#near.size ? this.#near.release(index) : this.#far.delete(ip);
  }

  /** Allocates any free address; undefined if the range is full. */
  allocateNext(random: Random): string | undefined {
    const index = this.#near.allocateNext(random);
    return index === undefined ? undefined : printAddress(this.family, this.#first + BigInt(index));
  }

  /** The offset of an address in the pool. Above 2^53 it is not exact, but is only compared with `nearby`. */
  #indexOf(ip: string): number | undefined {
    const address = parseAddress(ip);
    if (address === undefined || address.family !== this.family) return undefined;
    if (!contains(this.#range, address)) return undefined;
    const index = Number(address.value - this.#first);
    const isEnd = index < 0 || (this.family === 'IPv4' && index >= this.#usable);
    return isEnd ? undefined : index;
  }
}

/** Kubernetes limits the size of IPv6 ranges, and every range needs an address to allocate. */
export const prefixLimits = { IPv4: { min: 8, max: 30 }, IPv6: { min: 64, max: 127 } } as const;

function parseServiceCidr(text: string): Cidr {
  const cidr = parseCidr(text);
  if (cidr === undefined) throw new RangeError(`"${text}" is not a CIDR such as 10.0.0.0/16 or fd00::/112`);
  const { min, max } = prefixLimits[cidr.family];
  if (cidr.prefixLength < min || cidr.prefixLength > max) {
    throw new RangeError(
      `"${text}" cannot be a range of cluster IPs: the prefix length for ${cidr.family} is ${min} to ${max}`,
    );
  }
  return cidr;
}
