import type { Cidr } from '../../api/addresses.ts';
import { contains, parseCidr, printAddress, printCidr } from '../../api/addresses.ts';
import { prefixLimits } from '../../server/allocate/address-pool.ts';
import { UsageError } from '../errors.ts';

/** Reads `--service-cluster-ip-range`: one CIDR, or one of each family with a comma between. Returned in canonical form. */
export function parseServiceRanges(text: string): readonly string[] {
  const ranges = text.split(',').map((part) => parseServiceRange(part.trim()));
  const [first, second] = ranges;
  if (first === undefined || ranges.length > 2) {
    throw new UsageError(`${JSON.stringify(text)} has ${ranges.length} ranges: expected one, or one IPv4 and one IPv6`);
  }
  if (second !== undefined && first.family === second.family) {
    throw new UsageError(`${JSON.stringify(text)} has two ${first.family} ranges: expected one IPv4 and one IPv6`);
  }
  return ranges.map(printCidr);
}

/** The first address after the network address: that of the `kubernetes` Service. */
export function firstServiceIp(range: string): string {
  const { family, network } = readRange(range);
  return printAddress(family, network + 1n);
}

/** Whether two ranges have an address in common. */
export function overlap(left: string, right: string): boolean {
  const [a, b] = [readRange(left), readRange(right)];
  return contains(a, { family: b.family, value: b.network }) || contains(b, { family: a.family, value: a.network });
}

/** The limits are those of the server, which allocates from the range. */
function parseServiceRange(text: string): Cidr {
  const range = readRange(text);
  const { min, max } = prefixLimits[range.family];
  if (range.prefixLength > max) {
    throw new UsageError(`${JSON.stringify(text)} is too small for Services: expected /${max} or shorter`);
  }
  if (range.prefixLength < min) {
    throw new UsageError(`${JSON.stringify(text)} is too large: an ${range.family} range must be /${min} or longer`);
  }
  return range;
}

function readRange(text: string): Cidr {
  const range = parseCidr(text);
  if (range === undefined) throw new UsageError(`${JSON.stringify(text)} is not a CIDR such as 10.96.0.0/16`);
  return range;
}
