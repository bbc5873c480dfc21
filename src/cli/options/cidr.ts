import ipaddr from 'ipaddr.js';
import { UsageError } from '../errors.ts';

type Family = 'IPv4' | 'IPv6';

interface Range {
  readonly family: Family;
  /** The network address, host bits cleared. */
  readonly network: Uint8Array;
  readonly prefix: number;
}

/** How many addresses a family's Service range must leave room for, as a prefix: kube-apiserver's limits. */
const longestPrefix: Readonly<Record<Family, number>> = { IPv4: 30, IPv6: 126 };
const shortestIpv6Prefix = 64;

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
  return ranges.map(printed);
}

/** The first address after the network address: that of the `kubernetes` Service. */
export function firstServiceIp(range: string): string {
  const { network } = readRange(range);
  const bytes = Array.from(network);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) + 1; // never carries: a range has at least four addresses
  return ipaddr.fromByteArray(bytes).toString();
}

/** Whether two ranges have an address in common. */
export function overlap(left: string, right: string): boolean {
  const [a, b] = [readRange(left), readRange(right)];
  if (a.family !== b.family) return false;
  const bits = Math.min(a.prefix, b.prefix);
  return a.network.every((byte, index) => {
    const mask = byteMask(bits - index * 8);
    return (byte & mask) === ((b.network[index] ?? 0) & mask);
  });
}

function parseServiceRange(text: string): Range {
  const range = readRange(text);
  if (range.prefix > longestPrefix[range.family]) {
    throw new UsageError(
      `${JSON.stringify(text)} is too small for Services: expected /${longestPrefix[range.family]} or shorter`,
    );
  }
  if (range.family === 'IPv6' && range.prefix < shortestIpv6Prefix) {
    throw new UsageError(
      `${JSON.stringify(text)} is too large: an IPv6 range must be /${shortestIpv6Prefix} or longer`,
    );
  }
  return range;
}

function readRange(text: string): Range {
  // ipaddr.js also reads shortened IPv4 (127.1/16), which would surprise; a CIDR here has all four numbers.
  if (!ipaddr.isValidCIDR(text) || (!text.includes(':') && text.split('.').length !== 4)) {
    throw new UsageError(`${JSON.stringify(text)} is not a CIDR such as 10.96.0.0/16`);
  }
  const [address, prefix] = ipaddr.parseCIDR(text);
  const network = Uint8Array.from(address.toByteArray(), (byte, index) => byte & byteMask(prefix - index * 8));
  return { family: address.kind() === 'ipv4' ? 'IPv4' : 'IPv6', network, prefix };
}

const printed = ({ network, prefix }: Range): string =>
  `${ipaddr.fromByteArray(Array.from(network)).toString()}/${prefix}`;

/** A byte whose first `bits` bits are set. */
const byteMask = (bits: number): number => (0xff << (8 - Math.min(8, Math.max(0, bits)))) & 0xff;
