// Ranges of addresses that belong to a member of the set: endpoints of other members are not accepted there.
import type { Address, Cidr } from '../../api/addresses.ts';
import { bitsOf, contains, parseCidr, printCidr } from '../../api/addresses.ts';

/** What is known of the addresses of one member. */
export interface Territory {
  readonly id: string;
  /** Where its endpoints are, as declared; undefined: that is not known. */
  readonly endpointRanges: readonly Cidr[] | undefined;
  /** Its ServiceCIDRs. */
  readonly serviceRanges: readonly string[];
  /** Where imports into it get their addresses. */
  readonly importRanges: readonly string[];
}

/** A range that contains an address, and what it is for. */
export interface Taken {
  readonly prefixLength: number;
  /** `is in 10.96.0.0/16, where cluster east has its Services`. */
  readonly problem: string;
}

/** Ranges by their length: an address is looked up once for each length that occurs, however many ranges there are. */
export class TakenRanges {
  /** The same for the same ranges. */
  readonly key: string;
  /** The longest prefixes first. */
  readonly #lengths: readonly (readonly [cidr: Cidr, byNetwork: ReadonlyMap<bigint, string>])[];

  constructor(ranges: readonly { readonly cidr: Cidr; readonly use: string }[]) {
    const sorted = ranges.toSorted((a, b) => b.cidr.prefixLength - a.cidr.prefixLength || (a.use < b.use ? -1 : 1));
    this.key = JSON.stringify(sorted.map(({ cidr, use }) => [printCidr(cidr), use]));
    const groups = Map.groupBy(sorted, ({ cidr }) => `${cidr.family}/${cidr.prefixLength}`);
    this.#lengths = Array.from(groups.values()).flatMap((group) => {
      const byNetwork = new Map<bigint, string>();
      for (const { cidr, use } of group) {
        byNetwork.getOrInsert(cidr.network, `is in ${printCidr(cidr)}, ${use}`);
      }
      const [first] = group;
      return first === undefined ? [] : [[first.cidr, byNetwork] as const];
    });
  }

  /** The smallest range that an address is in. */
  find(address: Address): Taken | undefined {
    for (const [{ family, prefixLength }, byNetwork] of this.#lengths) {
      if (family !== address.family) continue;
      const host = BigInt(bitsOf(family) - prefixLength);
      const problem = byNetwork.get((address.value >> host) << host);
      if (problem !== undefined) return { prefixLength, problem };
    }
    return undefined;
  }
}

/** All ranges that members have. */
export function takenBy(territories: readonly Territory[]): TakenRanges {
  return new TakenRanges(
    territories.flatMap(({ id, endpointRanges = [], serviceRanges, importRanges }) => [
      // A range of everything says that endpoints can be anywhere, and claims nothing.
      ...endpointRanges
        .filter(({ prefixLength }) => prefixLength > 0)
        .map((cidr) => ({ cidr, use: `which is declared for endpoints of cluster ${id}` })),
      ...cidrsOf(serviceRanges).map((cidr) => ({ cidr, use: `where cluster ${id} has its Services` })),
      ...cidrsOf(importRanges).map((cidr) => ({ cidr, use: `where imports into cluster ${id} have their addresses` })),
    ]),
  );
}

/** A server checks its ranges itself; what is no range contains no address. */
const cidrsOf = (texts: readonly string[]): readonly Cidr[] => texts.flatMap((text) => parseCidr(text) ?? []);

/** The length of the smallest range that an address is in; undefined: it is in none. */
export function longestIn(ranges: readonly Cidr[], address: Address): number | undefined {
  const lengths = ranges.filter((range) => contains(range, address)).map(({ prefixLength }) => prefixLength);
  return lengths.length === 0 ? undefined : Math.max(...lengths);
}
