// What a member may export.
import type { Cidr } from '../../api/addresses.ts';
import { parseCidr } from '../../api/addresses.ts';
import type { ReservedRanges } from './reserved-ranges.ts';

/** The policy of one member. */
export interface MemberPolicy {
  /** Namespaces it may export from; undefined: all (MCS-31). */
  readonly namespaces?: readonly string[] | undefined;
  /** Namespaces it may not export from; takes precedence over `namespaces`. */
  readonly deniedNamespaces?: readonly string[] | undefined;
  /**
   * The ranges of its endpoints; others are dropped. undefined: all addresses except loopback, link-local, multicast and
   * the ranges of other members. Of two ranges that contain an address the smaller one decides.
   */
  readonly endpointRanges?: readonly Cidr[] | undefined;
  /** Maximum number of exported services; undefined: unlimited. */
  readonly maxExports?: number | undefined;
  /** Maximum number of endpoints of all exported services; undefined: unlimited. */
  readonly maxEndpoints?: number | undefined;
  /** Maximum number of endpoints per service; undefined: unlimited. */
  readonly maxEndpointsPerService?: number | undefined;
}

/** The rules for all members of a set. */
export interface SetRules {
  /** The address ranges of all members. */
  readonly reserved: ReservedRanges;
  /** Namespaces that no cluster may export from. */
  readonly deniedNamespaces: readonly string[];
}

/** Something that was dropped from a record, and why. */
export interface Dropped {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly what: 'export' | 'endpoint' | 'slice' | 'label' | 'annotation';
  readonly message: string;
}

/** Parses endpoint ranges. Throws if one is invalid. */
export function endpointRangesOf(cidrs: readonly string[]): readonly Cidr[] {
  return cidrs.map((text) => {
    const cidr = parseCidr(text);
    if (cidr === undefined) throw new Error(`endpoint range "${text}" is not a CIDR, such as 10.244.0.0/16`);
    return cidr;
  });
}
