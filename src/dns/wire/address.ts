// IP addresses as bytes.
import { parseAddress } from '../../api/addresses.ts';

/** The 4 or 16 bytes of an address; undefined if it is none. One of IPv4 written as IPv6 has 4. */
export function addressBytes(text: string): Uint8Array | undefined {
  const quad = quadBytes(text);
  if (quad !== undefined) return quad;
  const address = parseAddress(text);
  if (address === undefined) return undefined;
  const bytes = new Uint8Array(address.family === 'IPv4' ? 4 : 16);
  for (let at = bytes.length - 1, rest = address.value; at >= 0; at--, rest >>= 8n) bytes[at] = Number(rest & 0xffn);
  return bytes;
}

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
