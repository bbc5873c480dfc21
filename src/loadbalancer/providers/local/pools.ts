import type { IpFamily } from '../../../api/addresses.ts';
import { bitsOf, parseAddress, parseCidr } from '../../../api/addresses.ts';

/** A range of addresses. */
export interface Range {
  readonly family: IpFamily;
  readonly first: bigint;
  readonly last: bigint;
}

/** A pool of addresses for load balancers. */
export interface Pool {
  readonly name: string;
  /** Whether Services without a request get addresses of this pool. */
  readonly isAutomatic: boolean;
  readonly ranges: readonly Range[];
}

/** Reads `NAME=RANGE,…` with ranges such as `192.0.2.10-192.0.2.20`, `2001:db8::/120` or `192.0.2.7`. Throws an error that explains what is wrong. */
export function parsePool(text: string, isAutomatic: boolean): Pool {
  const equals = text.indexOf('=');
  const name = text.slice(0, Math.max(equals, 0)).trim();
  const words = text
    .slice(equals + 1)
    .split(',')
    .flatMap((word) => word.trim() || []);
  if (name === '' || words.length === 0) throw new Error('expected NAME=RANGE,… such as public=192.0.2.10-192.0.2.20');
  return { name, isAutomatic, ranges: words.map(parseRange) };
}

/** Reads a range: first and last address, a CIDR, or one address. Throws an error that explains what is wrong. */
export function parseRange(text: string): Range {
  const cidr = parseCidr(text);
  if (cidr !== undefined) {
    const size = 1n << BigInt(bitsOf(cidr.family) - cidr.prefixLength);
    return { family: cidr.family, first: cidr.network, last: cidr.network + size - 1n };
  }
  const [first = '', last = first, ...more] = text.split('-').map((part) => part.trim());
  const [from, to] = [parseAddress(first), parseAddress(last)];
  if (from === undefined || to === undefined || more.length > 0) {
    throw new Error(`"${text}" is not a range: expected FIRST-LAST, a CIDR or an address`);
  }
  if (from.family !== to.family) throw new Error(`"${text}": both ends must be of the same family`);
  if (from.value > to.value) throw new Error(`"${text}" ends before it begins`);
  return { family: from.family, first: from.value, last: to.value };
}

/** Errors of a set of pools. */
export function poolErrors(pools: readonly Pool[]): readonly string[] {
  const names = pools.map(({ name }) => name);
  const twice = names
    .filter((name, index) => names.indexOf(name) !== index)
    .map((name) => `pool "${name}" is given twice`);
  const all = pools.flatMap(({ name, ranges }) => ranges.map((range) => ({ name, range })));
  const overlapping = all.flatMap(({ name, range }, index) =>
    all
      .slice(index + 1)
      .filter(
        (other) =>
          range.family === other.range.family && range.first <= other.range.last && other.range.first <= range.last,
      )
      .map((other) => `pools "${name}" and "${other.name}" have addresses in common`),
  );
  return [...twice, ...overlapping];
}
