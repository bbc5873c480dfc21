// Addresses in domain names: as labels with dashes, and in reverse zones.
import type { IpFamily } from '../../api/addresses.ts';
import { bitsOf, canonicalAddress, parseAddress, parseCidr } from '../../api/addresses.ts';
import type { Name, RecordSet } from '../../dnswire/data.ts';

// A fast check for the usual form: clusters have many thousands of such addresses.
const plainIpv4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/** The canonical text of an address, the same string if it is canonical already; undefined if it is not an address. */
export function canonical(text: string): string | undefined {
  if (plainIpv4.test(text)) return text;
  const address = canonicalAddress(text);
  return address === text ? text : address;
}

/** The record type of a canonical address. */
export const addressType = (address: string): 'A' | 'AAAA' => (address.includes(':') ? 'AAAA' : 'A');

/** The A and AAAA records of a name; a family without addresses has no set. */
export function addressSets(owner: Name, ttl: number, addresses: readonly string[]): readonly RecordSet[] {
  return (['A', 'AAAA'] as const).flatMap((type) => {
    const data = addresses.filter((address) => addressType(address) === type).map((address) => ({ type, address }));
    return data.length === 0 ? [] : [{ owner, type, ttl, data }];
  });
}

const dashedIpv4 = /^\d+-\d+-\d+-\d+$/;

/** The canonical address that a label stands for; undefined if it is not one. */
export function undashed(label: string): string | undefined {
  const text = dashedIpv4.test(label) ? label.replaceAll('-', '.') : label.replaceAll('-', ':');
  const address = parseAddress(text);
  // IPv4-mapped addresses and leading zeros are rejected: each address has exactly one name.
  if (address === undefined || address.isMapped || address.hasLeadingZeros) return undefined;
  return canonical(text);
}

/** The name of the PTR record of an address (RFC 1035 §3.5, RFC 3596 §2.5). */
export function reverseName(address: string): Name {
  if (!address.includes(':')) return `${address.split('.').toReversed().join('.')}.in-addr.arpa`;
  const digits = (parseAddress(address)?.value ?? 0n).toString(16).padStart(32, '0');
  return `${digits.split('').toReversed().join('.')}.ip6.arpa`;
}

/**
 * The reverse zones that together hold exactly the addresses of a CIDR. Names are cut at octets or nibbles, so that
 * 10.96.0.0/12 takes the sixteen zones 96.10.in-addr.arpa to 111.10.in-addr.arpa. Undefined if the text is not a CIDR.
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
