// IP addresses as bytes.
import { isIPv6 } from 'node:net';

/** The 4 or 16 bytes of an address; undefined if it is not one. An IPv4-mapped address has 4. */
export function addressBytes(text: string): Uint8Array | undefined {
  const quad = quadBytes(text);
  if (quad !== undefined || !isIPv6(text) || text.includes('%')) return quad;
  const bytes = inet6Bytes(text);
  return isMapped(bytes) ? bytes.subarray(12) : bytes;
}

/** The text of 4 or 16 bytes: dotted decimal, also for IPv4-mapped addresses, or RFC 5952. */
export function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  if (isMapped(bytes)) return bytes.subarray(12).join('.');
  const groups = Array.from({ length: 8 }, (_, index) => ((bytes[index * 2] ?? 0) << 8) | (bytes[index * 2 + 1] ?? 0));
  const { start, length } = longestZeroRun(groups);
  const text = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(':');
  return length < 2 ? text(groups) : `${text(groups.slice(0, start))}::${text(groups.slice(start + length))}`;
}

/** The first of the longest runs of zeros. */
function longestZeroRun(groups: readonly number[]): { readonly start: number; readonly length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  return best;
}

/** The bytes of a valid IPv6 address; its last 32 bits may be dotted decimal. */
function inet6Bytes(text: string): Uint8Array {
  const [head = [], tail] = text.split('::').map(groupBytes);
  const bytes = new Uint8Array(16);
  bytes.set(head);
  if (tail !== undefined) bytes.set(tail, 16 - tail.length);
  return bytes;
}

const groupBytes = (text: string): readonly number[] =>
  text === ''
    ? []
    : text.split(':').flatMap((group) => {
        const value = Number.parseInt(group, 16);
        return group.includes('.') ? [...(quadBytes(group) ?? [])] : [value >> 8, value & 0xff];
      });

const isMapped = (bytes: Uint8Array): boolean =>
  bytes.subarray(0, 12).every((byte, at) => byte === (at < 10 ? 0 : 0xff));

/** The bytes of a client address as Node prints it: a link-local address has its interface appended. */
export function clientAddressBytes(text: string): Uint8Array {
  const zone = text.indexOf('%');
  const bytes = addressBytes(zone === -1 ? text : text.slice(0, zone));
  if (bytes === undefined) throw new Error(`bug: a query from "${text}"`);
  return bytes;
}

/** Fast path for IPv4 in dotted decimal; undefined for all other text. */
function quadBytes(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(4);
  let part = 0;
  let digits = 0;
  let at = 0;
  for (let index = 0; index < text.length; index++) {
    const digit = text.charCodeAt(index) - 0x30;
    if (digit === -2) {
      if (digits === 0 || at === 3) return undefined;
      bytes[at++] = part;
      part = 0;
      digits = 0;
      continue;
    }
    part = part * 10 + digit;
    if (digit < 0 || digit > 9 || part > 255 || ++digits > 3) return undefined;
  }
  if (digits === 0 || at !== 3) return undefined;
  bytes[3] = part;
  return bytes;
}
