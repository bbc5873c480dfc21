// Endpoints that lead where no endpoint of that member can be: T3, and CVE-2021-25740.
import type { Cidr } from '../../api/addresses.ts';
import { contains, parseAddress } from '../../api/addresses.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ExportRecord } from '../record.ts';
import type { Dropped } from './policy.ts';
import { endpointRangesOf } from './policy.ts';
import type { TakenRanges } from './taken.ts';
import { longestIn } from './taken.ts';

/** Nothing of another cluster can be here: this host, this link, many at once, nobody, and the metadata of clouds. */
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

/** Where endpoints of a member may be. */
export interface AllowedRanges {
  /** As declared for the member; undefined: nothing is. */
  readonly declared: readonly Cidr[] | undefined;
  /** Where members have addresses; undefined: that is not known. */
  readonly taken?: TakenRanges | undefined;
}

/** Why an address is not accepted; undefined: it is. */
export function addressProblem(text: string, { declared, taken }: AllowedRanges): string | undefined {
  const address = parseAddress(text);
  if (address === undefined) return declared === undefined ? undefined : 'is not an IP address and cannot be checked';
  const other = taken?.find(address);
  if (declared !== undefined) {
    const own = longestIn(declared, address);
    if (own === undefined) return 'is outside the ranges declared for the cluster';
    return other !== undefined && other.prefixLength > own ? other.problem : undefined;
  }
  if (other !== undefined) return other.problem;
  return neverElsewhere.some((range) => contains(range, address)) ? 'cannot be in another cluster' : undefined;
}

/** A slice with the endpoints that are acceptable, and why others are not. */
export interface AcceptedSlice {
  readonly slice: EndpointSlice;
  readonly problems: readonly string[];
}

/**
 * Remembers which slices were looked at, so that a change of one costs as much as that one. One for each member and its
 * ranges; without it the results are the same.
 */
export class AcceptedSlices {
  #accepted = new WeakMap<EndpointSlice, AcceptedSlice>();
  #taken: TakenRanges | undefined;

  /** The slice as it is acceptable. */
  of(slice: EndpointSlice, ranges: AllowedRanges): AcceptedSlice {
    if (ranges.taken !== this.#taken) {
      this.#taken = ranges.taken;
      this.#accepted = new WeakMap();
    }
    const known = this.#accepted.get(slice);
    if (known !== undefined) return known;
    const accepted = acceptedSlice(slice, ranges);
    this.#accepted.set(slice, accepted);
    return accepted;
  }
}

/** The slice with the endpoints that are acceptable; the same object when all are. */
function acceptedSlice(slice: EndpointSlice, ranges: AllowedRanges): AcceptedSlice {
  const problems: string[] = [];
  const endpoints = (slice.endpoints ?? []).filter(({ addresses }) =>
    // One bad address spoils the endpoint: which of them a client uses is not ours to say.
    (addresses ?? []).every((address) => {
      const problem = addressProblem(address, ranges);
      if (problem !== undefined) problems.push(`endpoint ${address} ${problem}`);
      return problem === undefined;
    }),
  );
  return { slice: problems.length === 0 ? slice : { ...slice, endpoints }, problems };
}

/** The slices of a record with the endpoints that are acceptable, and what was dropped. */
export function withAcceptedAddresses(
  { cluster, namespace, name, slices }: ExportRecord,
  ranges: AllowedRanges,
  memory: AcceptedSlices,
): { readonly slices: readonly EndpointSlice[]; readonly dropped: readonly Dropped[] } {
  const accepted = slices.map((slice) => memory.of(slice, ranges));
  return {
    slices: accepted.map(({ slice }) => slice),
    dropped: accepted.flatMap(({ problems }) =>
      problems.map((message): Dropped => ({ cluster, namespace, name, what: 'endpoint', message })),
    ),
  };
}
