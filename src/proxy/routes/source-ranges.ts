import type { Cidr, IpFamily } from '../../api/addresses.ts';
import { contains, familyOf, parseAddress, parseCidr, printCidr } from '../../api/addresses.ts';

/**
 * The allowed source ranges of a load balancer in one family; undefined: all. As in kube-proxy, ranges of one family only do not
 * restrict the other one.
 */
export function sourceRanges(ranges: readonly string[] | undefined, family: IpFamily): readonly string[] | undefined {
  if (ranges === undefined || ranges.length === 0) return undefined;
  const parsed = ranges.map((range) => parseCidr(range.trim()));
  const readable = parsed.filter((range) => range !== undefined);
  // A restriction was intended: if it cannot be parsed, nothing is allowed.
  if (readable.length === 0) return [];
  const own = readable.filter((range) => range.family === family);
  if (own.length === 0 || own.some(({ prefixLength }) => prefixLength === 0)) return undefined;
  return disjoint(own).map(printCidr);
}

/** Removes ranges that are inside another one, because kernel sets reject overlaps. */
export function disjoint(ranges: readonly Cidr[]): readonly Cidr[] {
  const widestFirst = ranges.toSorted((a, b) => a.prefixLength - b.prefixLength);
  return widestFirst.filter(
    (range, index) => !widestFirst.slice(0, index).some((wider) => contains(wider, { ...range, value: range.network })),
  );
}

/**
 * Adds the load balancer's address to the ranges if they allow this node: packets of the node to the address may have it as
 * their source.
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
