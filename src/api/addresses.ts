// IP addresses and CIDRs as Kubernetes reads them: leading zeros are decimal, and an IPv4-mapped IPv6 address is IPv4.
import ipaddr from 'ipaddr.js';

export type IpFamily = 'IPv4' | 'IPv6';

/** An address as a number, with what was unusual about how it was written. */
export interface Address {
  readonly family: IpFamily;
  readonly value: bigint;
  /** Some part had zeros before its digits, as in `10.0.0.010`. */
  readonly hasLeadingZeros: boolean;
  /** It was written as IPv6, as in `::ffff:10.0.0.1`. */
  readonly isMapped: boolean;
}

/** A range of addresses; `address` is the one it was written with, `network` its first. */
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

/** The longest address, less zeros before its digits. */
const maxLength = 64;

/** How many bits an address of a family has. */
export const bitsOf = (family: IpFamily): number => (family === 'IPv4' ? 32 : 128);

/** Reads an address; undefined if it is none. Zones (`fe80::1%eth0`) are not accepted. */
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
  // The library takes ::1.2.3.4 for an IPv4-mapped address, and a zone for a part of an address.
  const plain = tail === undefined ? text : text.slice(0, lastColon) + hexPair(tail.value);
  if (plain.includes('%') || !ipaddr.IPv6.isValid(plain)) return undefined;
  const value = ipaddr.IPv6.parse(plain).parts.reduce((sum, part) => (sum << 16n) | BigInt(part), 0n);
  const hasLeadingZeros = tail?.hasLeadingZeros ?? false;
  if (value >> 32n !== 0xffffn) return { family: 'IPv6', value, hasLeadingZeros, isMapped: false };
  return { family: 'IPv4', value: value - mappedStart, hasLeadingZeros, isMapped: true };
}

const hexPair = (value: bigint): string => `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;

/** The address in its one canonical form: dotted decimal, or RFC 5952. */
export function printAddress(family: IpFamily, value: bigint): string {
  if (family === 'IPv4') {
    const number = Number(value);
    return `${number >>> 24}.${(number >>> 16) & 255}.${(number >>> 8) & 255}.${number & 255}`;
  }
  const parts = Array.from({ length: 8 }, (_, index) => Number((value >> BigInt(112 - 16 * index)) & 0xffffn));
  return new ipaddr.IPv6(parts).toRFC5952String();
}

/** The canonical form of an address; undefined if it is none. */
export function canonicalAddress(text: string): string | undefined {
  const address = parseAddress(text);
  return address && canonicalText(text, address);
}

/** The canonical form of an address that was read from this text. */
export function canonicalText(text: string, { family, value, hasLeadingZeros, isMapped }: Address): string {
  // Most addresses in a cluster are written so already, and there are hundreds of thousands of them.
  const isCanonical = family === 'IPv4' && !hasLeadingZeros && !isMapped;
  return isCanonical ? text : printAddress(family, value);
}

/** The family of an address; undefined if it is none. */
export const familyOf = (text: string): IpFamily | undefined => parseAddress(text)?.family;

/** `host:port` as URLs and messages write it: an IPv6 address is put in brackets. */
export const joinHostPort = (host: string, port: number | string): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

/** The families of addresses, in their order. */
export const familiesOf = (texts: readonly string[]): readonly IpFamily[] =>
  texts.flatMap((text) => familyOf(text) ?? []);

/** Reads a CIDR; undefined if it is none. Bits beyond the prefix length may be set. */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf('/');
  const digits = text.slice(slash + 1);
  const address = slash === -1 || !/^\d{1,8}$/.test(digits) ? undefined : parseAddress(text.slice(0, slash));
  if (address === undefined) return undefined;
  const length = Number(digits);
  if (length > (address.isMapped ? 128 : bitsOf(address.family))) return undefined;
  const hasLeadingZeros = address.hasLeadingZeros || (digits.length > 1 && digits.startsWith('0'));
  const { isMapped } = address;
  // A mapped address with a prefix that leaves the mapped range is an IPv6 range after all.
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

/** The canonical form of a range: its first address and its prefix length. */
export const printCidr = ({ family, network, prefixLength }: Cidr): string =>
  `${printAddress(family, network)}/${prefixLength}`;

/** The canonical form of a CIDR; undefined if it is none. */
export function canonicalCidr(text: string): string | undefined {
  const cidr = parseCidr(text);
  return cidr && printCidr(cidr);
}

/** Whether an address lies in a range. */
export const contains = (cidr: Cidr, address: Pick<Address, 'family' | 'value'>): boolean =>
  cidr.family === address.family && firstOf(address.value, cidr.family, cidr.prefixLength) === cidr.network;
