import type { Cidr, IpFamily } from '../../api/addresses.ts';
import { contains, familyOf, parseAddress, parseCidr, printCidr } from '../../api/addresses.ts';

/**
 * The ranges that clients of a load balancer must be in, in one family; undefined: there is no restriction. As in
 * kube-proxy, ranges of one family alone leave the other open, and so does a range of everybody.
 */
export function sourceRanges(ranges: readonly string[] | undefined, family: IpFamily): readonly string[] | undefined {
  if (ranges === undefined || ranges.length === 0) return undefined;
  const parsed = ranges.map((range) => parseCidr(range.trim()));
  const readable = parsed.filter((range) => range !== undefined);
  // Somebody wanted a restriction that nobody can read: better closed than open.
  if (readable.length === 0) return [];
  const own = readable.filter((range) => range.family === family);
  if (own.length === 0 || own.some(({ prefixLength }) => prefixLength === 0)) return undefined;
  return disjoint(own).map(printCidr);
}

/** Ranges without those that lie in another one. Kernel sets refuse what overlaps. */
export function disjoint(ranges: readonly Cidr[]): readonly Cidr[] {
  const widestFirst = ranges.toSorted((a, b) => a.prefixLength - b.prefixLength);
  return widestFirst.filter(
    (range, index) => !widestFirst.slice(0, index).some((wider) => contains(wider, { ...range, value: range.network })),
  );
}

/**
 * The same ranges and the load balancer's own address, if this node is admitted: what the node sends through the address
 * may carry it as its source.
 */
export function withOwnAddress(
  ranges: readonly string[] | undefined,
  address: string,
  nodeAddresses: readonly string[],
): readonly string[] | undefined {
  const cidrs = ranges?.flatMap((range) => parseCidr(range) ?? []);
  const own = parseCidr(`${address}/${familyOf(address) === 'IPv6' ? 128 : 32}`);
  if (cidrs === undefined || own === undefined) return ranges;
  const admitsNode = nodeAddresses.some((node) => {
    const parsed = parseAddress(node);
    return parsed !== undefined && cidrs.some((range) => contains(range, parsed));
  });
  return admitsNode ? disjoint([...cidrs, own]).map(printCidr) : ranges;
}
