// Ranges of addresses, and which one a service is to try first.
import { createHash } from 'node:crypto';
import type { Cidr, IpFamily } from '../../api/addresses.ts';
import { bitsOf, parseCidr, printAddress } from '../../api/addresses.ts';

/** Addresses of one family that can be handed out, in one piece. */
interface Range {
  readonly first: bigint;
  readonly size: bigint;
}

/** The addresses that can be handed out, by family. */
export type Pool = { readonly [family in IpFamily]: readonly Range[] };

/** A pool of CIDRs. Throws on a text that is none, and on ranges that overlap: an address would be there twice. */
export function poolOf(cidrs: readonly string[]): Pool {
  const parsed = cidrs.map((text) => {
    const cidr = parseCidr(text);
    if (cidr === undefined) throw new Error(`supercluster IP range "${text}" is no CIDR, such as 241.0.0.0/8`);
    return cidr;
  });
  return { IPv4: rangesOf(parsed, 'IPv4'), IPv6: rangesOf(parsed, 'IPv6') };
}

function rangesOf(cidrs: readonly Cidr[], family: IpFamily): readonly Range[] {
  const ranges = cidrs
    .filter((cidr) => cidr.family === family)
    .map(usableIn)
    .toSorted((left, right) => (left.first < right.first ? -1 : 1));
  for (const [index, range] of ranges.entries()) {
    const next = ranges[index + 1];
    if (next !== undefined && range.first + range.size > next.first) {
      throw new Error(`supercluster IP ranges overlap at ${printAddress(family, next.first)}: remove one of them`);
    }
  }
  return ranges;
}

/** Without the address of the network and, in IPv4, the one for all its hosts. */
function usableIn({ family, network, prefixLength }: Cidr): Range {
  const size = 1n << BigInt(bitsOf(family) - prefixLength);
  if (size <= 2n) return { first: network, size };
  return { first: network + 1n, size: size - (family === 'IPv4' ? 2n : 1n) };
}

/** How many addresses of a family there are. */
export const sizeOf = (pool: Pool, family: IpFamily): bigint => pool[family].reduce((sum, { size }) => sum + size, 0n);

/** A pool can be larger than anybody waits for; one that is taken this far from where one begins to look is full. */
const maxTries = 1 << 20;

/**
 * A free address; undefined when there is none. Where to begin depends on the service, so that two controllers that do
 * not know of each other choose the same one, and a service that comes back is likely to get its old one.
 */
export function freeAddress(
  pool: Pool,
  { key, family }: { readonly key: string; readonly family: IpFamily },
  isTaken: (ip: string) => boolean,
): string | undefined {
  const size = sizeOf(pool, family);
  if (size === 0n) return undefined;
  const start = BigInt(`0x${createHash('sha256').update(`${family}/${key}`).digest('hex').slice(0, 32)}`) % size;
  const tries = size < BigInt(maxTries) ? Number(size) : maxTries;
  for (let step = 0; step < tries; step++) {
    const ip = printAddress(family, addressAt(pool[family], (start + BigInt(step)) % size));
    if (!isTaken(ip)) return ip;
  }
  return undefined;
}

function addressAt(ranges: readonly Range[], index: bigint): bigint {
  let left = index;
  for (const { first, size } of ranges) {
    if (left < size) return first + left;
    left -= size;
  }
  throw new Error(`bug: address ${index} of a pool that is smaller`);
}
