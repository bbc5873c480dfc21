// Address ranges that belong to members: endpoints of other members are rejected there.
import type { Address, Cidr } from '../../api/addresses.ts';
import { bitsOf, contains, parseCidr, printCidr } from '../../api/addresses.ts';
import { getOrCompute } from '../../api/maps.ts';

/** The address ranges of one member. */
export interface MemberRanges {
  readonly id: string;
  /** The declared ranges of its endpoints; undefined: none are declared. */
  readonly endpointRanges: readonly Cidr[] | undefined;
  /** Its ServiceCIDRs. */
  readonly serviceRanges: readonly string[];
  /** The ranges of its supercluster IPs. */
  readonly importRanges: readonly string[];
}

/** A range that contains an address, and why an endpoint may not be in it. */
export interface ReservedRange {
  readonly prefixLength: number;
  /** `is in 10.96.0.0/16, where cluster east has its Services`. */
  readonly problem: string;
}

/** Ranges grouped by prefix length: a lookup takes one step per length, independent of the number of ranges. */
export class ReservedRanges {
  /** Equal for equal ranges. */
  readonly key: string;
  /** Longest prefixes first. */
  readonly #lengths: readonly (readonly [cidr: Cidr, byNetwork: ReadonlyMap<bigint, string>])[];

  constructor(ranges: readonly { readonly cidr: Cidr; readonly use: string }[]) {
    const sorted = ranges.toSorted((a, b) => b.cidr.prefixLength - a.cidr.prefixLength || (a.use < b.use ? -1 : 1));
    this.key = JSON.stringify(sorted.map(({ cidr, use }) => [printCidr(cidr), use]));
    const groups = Map.groupBy(sorted, ({ cidr }) => `${cidr.family}/${cidr.prefixLength}`);
    this.#lengths = Array.from(groups.values()).flatMap((group) => {
      const byNetwork = new Map<bigint, string>();
      for (const { cidr, use } of group) {
        getOrCompute(byNetwork, cidr.network, () => `is in ${printCidr(cidr)}, ${use}`);
      }
      const [first] = group;
      return first === undefined ? [] : [[first.cidr, byNetwork] as const];
    });
  }

  /** The smallest range that contains an address. */
  find(address: Address): ReservedRange | undefined {
    for (const [{ family, prefixLength }, byNetwork] of this.#lengths) {
      if (family !== address.family) continue;
      const host = BigInt(bitsOf(family) - prefixLength);
      const problem = byNetwork.get((address.value >> host) << host);
      if (problem !== undefined) return { prefixLength, problem };
    }
    return undefined;
  }
}

/** The ranges of all members. */
export function reservedRangesOf(territories: readonly MemberRanges[]): ReservedRanges {
  return new ReservedRanges(
    territories.flatMap(({ id, endpointRanges = [], serviceRanges, importRanges }) => [
      // 0.0.0.0/0 and ::/0 accept all addresses and reserve none.
      ...endpointRanges
        .filter(({ prefixLength }) => prefixLength > 0)
        .map((cidr) => ({ cidr, use: `which is declared for endpoints of cluster ${id}` })),
      ...cidrsOf(serviceRanges).map((cidr) => ({ cidr, use: `where cluster ${id} has its Services` })),
      ...cidrsOf(importRanges).map((cidr) => ({ cidr, use: `where imports into cluster ${id} have their addresses` })),
    ]),
  );
}

/** API servers validate their ranges; an invalid one is ignored. */
const cidrsOf = (texts: readonly string[]): readonly Cidr[] => texts.flatMap((text) => parseCidr(text) ?? []);

/** The prefix length of the smallest range that contains an address; undefined: none does. */
export function longestPrefixContaining(ranges: readonly Cidr[], address: Address): number | undefined {
  const lengths = ranges.filter((range) => contains(range, address)).map(({ prefixLength }) => prefixLength);
  return lengths.length === 0 ? undefined : Math.max(...lengths);
}
