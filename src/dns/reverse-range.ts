import { canonicalCidr } from '../api/addresses.ts';

/** The range of addresses that a reverse zone is for: `10.in-addr.arpa` is 10.0.0.0/8. Undefined if it is none. */
export function reverseRange(zone: string): string | undefined {
  const [, labels = '', family] = /^(.*)\.(in-addr|ip6)\.arpa\.?$/i.exec(zone) ?? [];
  const parts = labels.split('.').toReversed();
  if (family === undefined) return undefined;
  return family.toLowerCase() === 'ip6' ? ipv6Range(parts) : ipv4Range(parts);
}

function ipv4Range(bytes: readonly string[]): string | undefined {
  if (bytes.length > 4 || bytes.some((byte) => !/^\d{1,3}$/.test(byte))) return undefined;
  return canonicalCidr(`${[...bytes, '0', '0', '0'].slice(0, 4).join('.')}/${8 * bytes.length}`);
}

function ipv6Range(nibbles: readonly string[]): string | undefined {
  if (nibbles.length > 32 || nibbles.some((nibble) => !/^[0-9a-f]$/i.test(nibble))) return undefined;
  const all = nibbles.join('').padEnd(32, '0');
  return canonicalCidr(`${all.match(/.{4}/g)?.join(':') ?? ''}/${4 * nibbles.length}`);
}
