// IP addresses as bytes.
import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The 4 or 16 bytes of an address; undefined if it is none. One of IPv4 written as IPv6 has 4. */
export function addressBytes(text: string): Uint8Array | undefined {
  const quad = quadBytes(text);
  if (quad !== undefined || !isIPv6(text) || text.includes('%')) return quad;
  const bytes = inet6Bytes(text);
  return isMapped(bytes) ? bytes.subarray(12) : bytes;
}

/** The text of 4 or 16 bytes: dotted decimal, or RFC 5952. */
export function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  return new ipaddr.IPv6([...bytes]).toRFC5952String();
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

/** As `addressBytes`, for who asks: as Node writes it, with the interface of a link-local address behind it. */
export function askerBytes(text: string): Uint8Array {
  const zone = text.indexOf('%');
  const bytes = addressBytes(zone === -1 ? text : text.slice(0, zone));
  if (bytes === undefined) throw new Error(`bug: a query from "${text}"`);
  return bytes;
}

/** An IPv4 address as it is nearly always written; undefined for all else, which may be one too. */
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
