import { parseCidr, printAddress } from '../../api/addresses.ts';

/** The addresses of Pods. An address that was released is used again as late as possible. */
export class AddressPool {
  readonly #first: bigint;
  readonly #count: bigint;
  readonly #family: 'IPv4' | 'IPv6';
  readonly #used = new Set<string>();
  #next = 0n;

  /** Without the first 256 addresses of a range, which has more than that. */
  constructor(cidr: string) {
    const range = parseCidr(cidr);
    if (range === undefined) throw new Error(`"${cidr}" is not a range of addresses`);
    const bits = BigInt((range.family === 'IPv4' ? 32 : 128) - range.prefixLength);
    const size = 1n << bits;
    const reserved = size > 512n ? 257n : 1n;
    this.#family = range.family;
    this.#first = range.network + reserved;
    this.#count = size - reserved - 1n;
  }

  /** Marks an address as used. */
  take(address: string): void {
    this.#used.add(address);
  }

  /** Returns a free address; undefined: all are used. */
  allocate(): string | undefined {
    for (let tries = 0n; tries < this.#count && tries <= BigInt(this.#used.size); tries++) {
      const address = printAddress(this.#family, this.#first + this.#next);
      this.#next = (this.#next + 1n) % this.#count;
      if (this.#used.has(address)) continue;
      this.#used.add(address);
      return address;
    }
    return undefined;
  }

  release(address: string): void {
    this.#used.delete(address);
  }
}
