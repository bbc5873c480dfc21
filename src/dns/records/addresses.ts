// Addresses as the names of this schema write them: with dashes, and backwards.
import type { IpFamily } from '../../api/addresses.ts';
import { bitsOf, canonicalAddress, parseAddress, parseCidr } from '../../api/addresses.ts';
import type { Name, RecordSet } from '../../dnswire/data.ts';

// The usual form, of which clusters have many thousands, is recognised without reading numbers.
const plainIpv4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/** The canonical text of an address, the same string where it is canonical already; undefined if it is none. */
export function canonical(text: string): string | undefined {
  if (plainIpv4.test(text)) return text;
  const address = canonicalAddress(text);
  return address === text ? text : address;
}

/** The type of the record that holds an address in canonical form. */
export const addressType = (address: string): 'A' | 'AAAA' => (address.includes(':') ? 'AAAA' : 'A');

/** Addresses of both families as sets at a name; a family without addresses has none. */
export function addressSets(owner: Name, ttl: number, addresses: readonly string[]): readonly RecordSet[] {
  return (['A', 'AAAA'] as const).flatMap((type) => {
    const data = addresses.filter((address) => addressType(address) === type).map((address) => ({ type, address }));
    return data.length === 0 ? [] : [{ owner, type, ttl, data }];
  });
}

/** An address in canonical form as a label. One that would end in a dash, which no host name does, gets a zero. */
export function dashed(address: string): string {
  const label = address.replaceAll(/[.:]/g, '-');
  return label.endsWith('-') ? `${label}0` : label;
}

const dashedIpv4 = /^\d+-\d+-\d+-\d+$/;

/** The address that a label writes, in canonical form; undefined if it writes none. */
export function undashed(label: string): string | undefined {
  const text = dashedIpv4.test(label) ? label.replaceAll('-', '.') : label.replaceAll('-', ':');
  const address = parseAddress(text);
  // What reads as IPv4 must have been written as IPv4, and without zeros in front: each name has one address.
  if (address === undefined || address.isMapped || address.hasLeadingZeros) return undefined;
  return canonical(text);
}

/** The name under which an address is looked up backwards (RFC 1035 §3.5, RFC 3596 §2.5). */
export function reverseName(address: string): Name {
  if (!address.includes(':')) return `${address.split('.').toReversed().join('.')}.in-addr.arpa`;
  const digits = (parseAddress(address)?.value ?? 0n).toString(16).padStart(32, '0');
  return `${digits.split('').toReversed().join('.')}.ip6.arpa`;
}

/**
 * The reverse zones that together hold exactly the addresses of a CIDR: names are cut at octets or nibbles, so that
 * 10.96.0.0/12 takes the sixteen zones 96.10.in-addr.arpa to 111.10.in-addr.arpa. Undefined if it is no CIDR.
 */
export function reverseZones(text: string): readonly Name[] | undefined {
  const cidr = parseCidr(text);
  if (cidr === undefined) return undefined;
  const { family, network, prefixLength } = cidr;
  const digitBits = family === 'IPv4' ? 8 : 4;
  const digits = Math.ceil(prefixLength / digitBits);
  const count = 2 ** (digits * digitBits - prefixLength);
  const hostBits = BigInt(bitsOf(family) - digits * digitBits);
  const first = network >> hostBits;
  return Array.from({ length: count }, (_, index) => zoneName(family, first + BigInt(index), digits));
}

function zoneName(family: IpFamily, prefix: bigint, digits: number): Name {
  const [bits, base, suffix] =
    family === 'IPv4' ? ([8n, 10, 'in-addr.arpa'] as const) : ([4n, 16, 'ip6.arpa'] as const);
  const labels = Array.from({ length: digits }, (_, index) =>
    ((prefix >> (BigInt(index) * bits)) & ((1n << bits) - 1n)).toString(base),
  );
  return [...labels, suffix].join('.');
}
