// Address ranges, and the search for a free address.
import { createHash } from 'node:crypto';
import type { Cidr, IpFamily } from '../../api/addresses.ts';
import { bitsOf, parseCidr, printAddress } from '../../api/addresses.ts';

/** A contiguous range of allocatable addresses of one family. */
interface Range {
  readonly first: bigint;
  readonly size: bigint;
}

/** The allocatable addresses, by family. */
export type Pool = { readonly [family in IpFamily]: readonly Range[] };

/** Parses a pool of CIDRs. Throws if one is invalid or two overlap. */
export function poolOf(cidrs: readonly string[]): Pool {
  const parsed = cidrs.map((text) => {
    const cidr = parseCidr(text);
    if (cidr === undefined) throw new Error(`supercluster IP range "${text}" is not a CIDR, such as 241.0.0.0/8`);
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

/** The range without the network address and, in IPv4, the broadcast address. */
function usableIn({ family, network, prefixLength }: Cidr): Range {
  const size = 1n << BigInt(bitsOf(family) - prefixLength);
  if (size <= 2n) return { first: network, size };
  return { first: network + 1n, size: size - (family === 'IPv4' ? 2n : 1n) };
}

/** The number of addresses of a family. */
export const sizeOf = (pool: Pool, family: IpFamily): bigint => pool[family].reduce((sum, { size }) => sum + size, 0n);

/** Limits the search in a large pool: it counts as full when this many addresses after the start are in use. */
const maxTries = 1 << 20;

/**
 * A free address, or undefined. The search starts at a hash of the service, so that independent controllers choose the
 * same address and a re-created service is likely to get its previous one.
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
  throw new Error(`bug: address ${index} is outside the pool`);
}
