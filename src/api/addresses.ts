// Parses and prints IP addresses and CIDRs as Kubernetes does: leading zeros are decimal, and an IPv4-mapped IPv6 address
// is IPv4.
import ipaddr from 'ipaddr.js';

export type IpFamily = 'IPv4' | 'IPv6';

/** An address as a number, with the deviations of its text from the canonical form. */
export interface Address {
  readonly family: IpFamily;
  readonly value: bigint;
  /** Some part had leading zeros, as in `10.0.0.010`. */
  readonly hasLeadingZeros: boolean;
  /** It was an IPv4-mapped IPv6 address, as in `::ffff:10.0.0.1`. */
  readonly isMapped: boolean;
}

/** A range of addresses; `address` is the address in its text, `network` the first of the range. */
export interface Cidr {
  readonly family: IpFamily;
  readonly address: bigint;
  readonly network: bigint;
  readonly prefixLength: number;
  readonly hasLeadingZeros: boolean;
  readonly isMapped: boolean;
}

const quad = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/;
const mappedStart = 0xffffn << 32n;

/** No address without leading zeros is longer. */
const maxLength = 64;

/** The length of addresses of a family, in bits. */
export const bitsOf = (family: IpFamily): number => (family === 'IPv4' ? 32 : 128);

/** Parses an address; undefined if the text is not one. Zones (`fe80::1%eth0`) are rejected. */
export function parseAddress(text: string): Address | undefined {
  if (text.length > maxLength) return undefined;
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

function parseIpv4(text: string): Address | undefined {
  const parts = quad.exec(text);
  if (parts === null) return undefined;
  let value = 0;
  let hasLeadingZeros = false;
  for (let index = 1; index <= 4; index++) {
    const part = parts[index] ?? '';
    const number = Number(part);
    if (number > 255) return undefined;
    if (part.length > 1 && part.startsWith('0')) hasLeadingZeros = true;
    value = value * 256 + number;
  }
  return { family: 'IPv4', value: BigInt(value), hasLeadingZeros, isMapped: false };
}

function parseIpv6(text: string): Address | undefined {
  const lastColon = text.lastIndexOf(':') + 1;
  const tail = text.includes('.') ? parseIpv4(text.slice(lastColon)) : undefined;
  // The library accepts ::1.2.3.4 as an IPv4-mapped address, and zones.
  const plain = tail === undefined ? text : text.slice(0, lastColon) + hexPair(tail.value);
  if (plain.includes('%') || !ipaddr.IPv6.isValid(plain)) return undefined;
  const value = ipaddr.IPv6.parse(plain).parts.reduce((sum, part) => (sum << 16n) | BigInt(part), 0n);
  const hasLeadingZeros = tail?.hasLeadingZeros ?? false;
  if (value >> 32n !== 0xffffn) return { family: 'IPv6', value, hasLeadingZeros, isMapped: false };
  return { family: 'IPv4', value: value - mappedStart, hasLeadingZeros, isMapped: true };
}

const hexPair = (value: bigint): string => `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;

/** The canonical form of an address: dotted decimal, or RFC 5952. */
export function printAddress(family: IpFamily, value: bigint): string {
  if (family === 'IPv4') {
    const number = Number(value);
    return `${number >>> 24}.${(number >>> 16) & 255}.${(number >>> 8) & 255}.${number & 255}`;
  }
  const parts = Array.from({ length: 8 }, (_, index) => Number((value >> BigInt(112 - 16 * index)) & 0xffffn));
  return new ipaddr.IPv6(parts).toRFC5952String();
}

/** The canonical form of an address; undefined if the text is not an address. */
export function canonicalAddress(text: string): string | undefined {
  const address = parseAddress(text);
  return address && canonicalText(text, address);
}

/** The canonical form of the address that was parsed from `text`. */
export function canonicalText(text: string, { family, value, hasLeadingZeros, isMapped }: Address): string {
  // Hot path: most of the hundreds of thousands of addresses in a cluster are canonical.
  const isCanonical = family === 'IPv4' && !hasLeadingZeros && !isMapped;
  return isCanonical ? text : printAddress(family, value);
}

/** The family of an address; undefined if the text is not an address. */
export const familyOf = (text: string): IpFamily | undefined => parseAddress(text)?.family;

/** Whether only this machine can reach an address in canonical text. */
export const isLoopback = (address: string): boolean => address === '::1' || address.startsWith('127.');

/** `host:port` as URLs and messages write it: an IPv6 address is put in brackets. */
export const joinHostPort = (host: string, port: number | string): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

/** A canonical address as a label. A label that would end in a dash, which host names must not, gets a zero. */
export function dashed(address: string): string {
  const label = address.replaceAll(/[.:]/g, '-');
  return label.endsWith('-') ? `${label}0` : label;
}

/** The families of the given addresses, in the same order. */
export const familiesOf = (texts: readonly string[]): readonly IpFamily[] =>
  texts.flatMap((text) => familyOf(text) ?? []);

/** Parses a CIDR; undefined if the text is not one. Bits beyond the prefix length may be set. */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf('/');
  const digits = text.slice(slash + 1);
  const address = slash === -1 || !/^\d{1,8}$/.test(digits) ? undefined : parseAddress(text.slice(0, slash));
  if (address === undefined) return undefined;
  const length = Number(digits);
  if (length > (address.isMapped ? 128 : bitsOf(address.family))) return undefined;
  const hasLeadingZeros = address.hasLeadingZeros || (digits.length > 1 && digits.startsWith('0'));
  const { isMapped } = address;
  // A mapped address with a prefix shorter than the mapped range is an IPv6 range.
  const isWide = isMapped && length < 96;
  const family = isWide ? 'IPv6' : address.family;
  const prefixLength = isMapped && !isWide ? length - 96 : length;
  const value = isWide ? address.value + mappedStart : address.value;
  const network = firstOf(value, family, prefixLength);
  return { family, address: value, network, prefixLength, hasLeadingZeros, isMapped };
}

function firstOf(value: bigint, family: IpFamily, prefixLength: number): bigint {
  const hostBits = BigInt(bitsOf(family) - prefixLength);
  return (value >> hostBits) << hostBits;
}

/** The canonical form of a CIDR: its first address and its prefix length. */
export const printCidr = ({ family, network, prefixLength }: Cidr): string =>
  `${printAddress(family, network)}/${prefixLength}`;

/** The canonical form of a CIDR; undefined if the text is not a CIDR. */
export function canonicalCidr(text: string): string | undefined {
  const cidr = parseCidr(text);
  return cidr && printCidr(cidr);
}

/** Whether the CIDR contains an address. */
export const contains = (cidr: Cidr, address: Pick<Address, 'family' | 'value'>): boolean =>
  cidr.family === address.family && firstOf(address.value, cidr.family, cidr.prefixLength) === cidr.network;
