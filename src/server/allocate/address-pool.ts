import { bitsOf, contains, parseAddress, parseCidr, printAddress, printCidr } from '../../api/addresses.ts';
import type { Cidr, IpFamily } from '../../api/addresses.ts';
import { BandedPool, staticBand } from './banded-pool.ts';
import type { Random } from './banded-pool.ts';

/** Addresses further than this from the start of an IPv6 range are given to those who ask for them, but to no others. */
const nearby = 2 ** 48;

/** The addresses of one service CIDR. The first is never handed out, nor is the last of an IPv4 range. */
export class AddressPool {
  /** In canonical form. */
  readonly cidr: string;
  readonly family: IpFamily;
  /** The first address of the range. */
  readonly networkAddress: string;
  readonly #range: Cidr;
  /** The first address to hand out, and how many there are. */
  readonly #first: bigint;
  readonly #usable: number;
  readonly #near: BandedPool;
  readonly #far = new Set<string>();

  /** Throws a `RangeError` that says what is wrong with `cidr`. */
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

  /** Whether `ip` is an address of the CIDR that can be handed out. */
  contains(ip: string): boolean {
    return this.#indexOf(ip) !== undefined;
  }

  /** Whether somebody has `ip`. */
  has(ip: string): boolean {
    const index = this.#indexOf(ip);
    return index !== undefined && (index < this.#near.size ? this.#near.has(index) : this.#far.has(ip));
  }

  /** Takes a certain address, given in canonical form; false when somebody has it or it is outside the range. */
  claim(ip: string): boolean {
    const index = this.#indexOf(ip);
    if (index === undefined) return false;
    if (index < this.#near.size) return this.#near.claim(index);
    if (this.#far.has(ip)) return false;
    this.#far.add(ip);
    return true;
  }

  /** Gives an address back; false when nobody had it. */
  release(ip: string): boolean {
    const index = this.#indexOf(ip);
    if (index === undefined) return false;
    return index < this.#near.size ? this.#near.release(index) : this.#far.delete(ip);
  }

  /** Takes any free address; undefined when there is none. */
  take(random: Random): string | undefined {
    const index = this.#near.take(random);
    return index === undefined ? undefined : printAddress(this.family, this.#first + BigInt(index));
  }

  /** The place of an address among those to hand out. Above 2^53 it is not exact, but only compared with `nearby`. */
  #indexOf(ip: string): number | undefined {
    const address = parseAddress(ip);
    if (address === undefined || address.family !== this.family) return undefined;
    if (!contains(this.#range, address)) return undefined;
    const index = Number(address.value - this.#first);
    const isEnd = index < 0 || (this.family === 'IPv4' && index >= this.#usable);
    return isEnd ? undefined : index;
  }
}

/** Kubernetes has no room for longer IPv6 ranges, and a range needs an address to hand out. */
const prefixLimits = { IPv4: { min: 8, max: 30 }, IPv6: { min: 64, max: 127 } } as const;

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
