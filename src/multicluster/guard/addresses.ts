// Drops endpoints with addresses that an endpoint of their cluster cannot have (CVE-2021-25740).
import type { Cidr } from '../../api/addresses.ts';
import { contains, parseAddress } from '../../api/addresses.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ClusterExport } from '../record.ts';
import type { Dropped } from './policy.ts';
import { endpointRangesOf } from './policy.ts';
import type { ReservedRanges } from './reserved-ranges.ts';
import { longestPrefixContaining } from './reserved-ranges.ts';

/** Ranges that cannot be in another cluster: this host, link-local, multicast, unspecified, and cloud metadata. */
const neverElsewhere = endpointRangesOf([
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/3',
  '::/127',
  'fe80::/10',
  'ff00::/8',
  'fd00:ec2::254/128',
]);

/** The ranges that decide whether an endpoint address of a member is accepted. */
export interface AllowedRanges {
  /** The ranges declared for the member; undefined: none are. */
  readonly declared: readonly Cidr[] | undefined;
  /** The address ranges of all members; undefined: unknown. */
  readonly reserved?: ReservedRanges | undefined;
}

/** Why an address is rejected; undefined: it is accepted. */
export function addressProblem(text: string, { declared, reserved }: AllowedRanges): string | undefined {
  const address = parseAddress(text);
  if (address === undefined) return declared === undefined ? undefined : 'is not an IP address and cannot be checked';
  const other = reserved?.find(address);
  if (declared !== undefined) {
    const own = longestPrefixContaining(declared, address);
    if (own === undefined) return 'is outside the ranges declared for the cluster';
    return other !== undefined && other.prefixLength > own ? other.problem : undefined;
  }
  if (other !== undefined) return other.problem;
  return neverElsewhere.some((range) => contains(range, address)) ? 'cannot be in another cluster' : undefined;
}

/** A slice with its accepted endpoints, and why the others were rejected. */
export interface AcceptedSlice {
  readonly slice: EndpointSlice;
  readonly problems: readonly string[];
}

/**
 * Caches the result per slice object, so that the change of one slice costs one check. One cache per member; the results
 * do not depend on it.
 */
export class AcceptedSlices {
  #accepted = new WeakMap<EndpointSlice, AcceptedSlice>();
  #ranges: ReservedRanges | undefined;

  /** The slice with its accepted endpoints. */
  of(slice: EndpointSlice, ranges: AllowedRanges): AcceptedSlice {
    if (ranges.reserved !== this.#ranges) {
      this.#ranges = ranges.reserved;
      this.#accepted = new WeakMap();
    }
    const known = this.#accepted.get(slice);
    if (known !== undefined) return known;
    const accepted = acceptedSlice(slice, ranges);
    this.#accepted.set(slice, accepted);
    return accepted;
  }
}

/** The slice with its accepted endpoints; the same object when all are accepted. */
function acceptedSlice(slice: EndpointSlice, ranges: AllowedRanges): AcceptedSlice {
  const problems: string[] = [];
  const endpoints = (slice.endpoints ?? []).filter(({ addresses }) =>
    // One rejected address drops the endpoint: a client may use any of them.
    (addresses ?? []).every((address) => {
      const problem = addressProblem(address, ranges);
      if (problem !== undefined) problems.push(`endpoint ${address} ${problem}`);
      return problem === undefined;
    }),
  );
  return { slice: problems.length === 0 ? slice : { ...slice, endpoints }, problems };
}

/** The slices of a record with their accepted endpoints, and the dropped ones. */
export function withAcceptedAddresses(
  { cluster, namespace, name, slices }: ClusterExport,
  ranges: AllowedRanges,
  cache: AcceptedSlices,
): { readonly slices: readonly EndpointSlice[]; readonly dropped: readonly Dropped[] } {
  const accepted = slices.map((slice) => cache.of(slice, ranges));
  return {
    slices: accepted.map(({ slice }) => slice),
    dropped: accepted.flatMap(({ problems }) =>
      problems.map((message): Dropped => ({ cluster, namespace, name, what: 'endpoint', message })),
    ),
  };
}
