import type { IpFamily } from '../../../api/addresses.ts';
import { parseAddress, printAddress } from '../../../api/addresses.ts';
import { families } from './libc.ts';

/** The size of the longest socket address. */
export const socketAddressBytes = 28;

/** Encodes an address and port as a `sockaddr`. */
export function encodeSocketAddress(address: string, port: number): Uint8Array {
  const parsed = parseAddress(address);
  if (parsed === undefined) throw new TypeError(`"${address}" is not an IP address`);
  const isInet = parsed.family === 'IPv4';
  const bytes = new Uint8Array(isInet ? 16 : socketAddressBytes);
  bytes[0] = isInet ? families.inet : families.inet6;
  bytes[2] = port >> 8;
  bytes[3] = port & 0xff;
  const [start, size] = isInet ? [4, 4] : [8, 16];
  for (let at = start + size - 1, rest = parsed.value; at >= start; at--, rest >>= 8n) bytes[at] = Number(rest & 0xffn);
  return bytes;
}

/** The address in a `sockaddr` as canonical text; IPv4-mapped IPv6 addresses become IPv4. */
export function printSocketAddress(bytes: Uint8Array): string {
  if (bytes[0] === families.inet) return `${bytes[4]}.${bytes[5]}.${bytes[6]}.${bytes[7]}`;
  let value = 0n;
  for (let at = 8; at < 24; at++) value = (value << 8n) | BigInt(bytes[at] ?? 0);
  const isMapped = value >> 32n === 0xffffn;
  const family: IpFamily = isMapped ? 'IPv4' : 'IPv6';
  return printAddress(family, isMapped ? value & 0xffff_ffffn : value);
}
