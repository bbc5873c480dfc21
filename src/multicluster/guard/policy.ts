// What a member may do to the others (sheet 5.7). Without a policy everything sensible is allowed, as in the base model.
import type { Cidr } from '../../api/addresses.ts';
import { parseCidr } from '../../api/addresses.ts';
import type { TakenRanges } from './taken.ts';

/** What one member is trusted with. */
export interface MemberPolicy {
  /** Namespaces that it may export from; undefined: all (MCS-31). */
  readonly namespaces?: readonly string[] | undefined;
  /** Namespaces that it may not export from, though they are allowed above. Worth locking: kube-system, default. */
  readonly deniedNamespaces?: readonly string[] | undefined;
  /**
   * Where its endpoints may be; others are dropped. undefined: anywhere but loopback, link-local, multicast and the
   * like, where no endpoint of another cluster can be, and where another member has its addresses. Clusters whose
   * endpoints are there on purpose declare it; of two ranges that contain an address the smaller one counts.
   */
  readonly endpointRanges?: readonly Cidr[] | undefined;
  /** How many services it may export; undefined: any number. */
  readonly maxExports?: number | undefined;
  /** How many endpoints it may export, all services together; undefined: any number. */
  readonly maxEndpoints?: number | undefined;
  /** How many endpoints a service of it may have; undefined: any number. */
  readonly maxEndpointsPerService?: number | undefined;
  /** It joins a service that others export already only if this says so; undefined: it may join all. */
  readonly joinsOnly?: ((service: { readonly namespace: string; readonly name: string }) => boolean) | undefined;
}

/** What holds for every member of a set. */
export interface SetRules {
  /** Where members have addresses. */
  readonly taken: TakenRanges;
  /** Namespaces from which no cluster may export. */
  readonly deniedNamespaces: readonly string[];
}

/** Something of a member that is left out, and why. */
export interface Dropped {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly what: 'export' | 'endpoint' | 'slice' | 'label' | 'annotation';
  readonly message: string;
}

/** Ranges of addresses. Throws on a text that is none. */
export function endpointRangesOf(cidrs: readonly string[]): readonly Cidr[] {
  return cidrs.map((text) => {
    const cidr = parseCidr(text);
    if (cidr === undefined) throw new Error(`endpoint range "${text}" is no CIDR, such as 10.244.0.0/16`);
    return cidr;
  });
}
