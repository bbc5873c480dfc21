// Endpoints that lead where no endpoint of that member can be: T3, and CVE-2021-25740.
import type { Cidr } from '../../api/addresses.ts';
import { contains, parseAddress } from '../../api/addresses.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ExportRecord } from '../record.ts';
import type { Dropped } from './policy.ts';
import { endpointRangesOf } from './policy.ts';

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

/** Why an address is not accepted; undefined: it is. */
export function addressProblem(text: string, ranges: readonly Cidr[] | undefined): string | undefined {
  const address = parseAddress(text);
  if (address === undefined) return ranges === undefined ? undefined : 'is no IP address, so that it cannot be checked';
  if (ranges !== undefined) {
    return ranges.some((range) => contains(range, address))
      ? undefined
      : 'is outside the ranges declared for the cluster';
  }
  return neverElsewhere.some((range) => contains(range, address)) ? 'cannot be in another cluster' : undefined;
}

/** The slices with the endpoints that are acceptable, and what was dropped. */
export function withAcceptedAddresses(
  record: ExportRecord,
  ranges: readonly Cidr[] | undefined,
): { readonly slices: readonly EndpointSlice[]; readonly dropped: readonly Dropped[] } {
  const { cluster, namespace, name } = record;
  const dropped: Dropped[] = [];
  const slices = record.slices.map((slice) => {
    const { endpoints } = slice;
    const accepted = (endpoints ?? []).filter(({ addresses }) =>
      // One bad address spoils the endpoint: which of them a client uses is not ours to say.
      (addresses ?? []).every((address) => {
        const problem = addressProblem(address, ranges);
        if (problem !== undefined) {
          dropped.push({ cluster, namespace, name, what: 'endpoint', message: `endpoint ${address} ${problem}` });
        }
        return problem === undefined;
      }),
    );
    return accepted.length === (endpoints ?? []).length ? slice : { ...slice, endpoints: accepted };
  });
  return { slices, dropped };
}
