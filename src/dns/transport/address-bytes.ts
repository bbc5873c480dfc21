import { parseAddress } from '../../api/addresses.ts';

/** The 4 or 16 bytes of an address as Node writes it, without an IPv6 address's interface. */
export function addressValueBytes(text: string): Uint8Array {
  const zone = text.indexOf('%');
  const address = parseAddress(zone === -1 ? text : text.slice(0, zone));
  if (address === undefined) throw new Error(`bug: a query from "${text}"`);
  const bytes = new Uint8Array(address.family === 'IPv4' ? 4 : 16);
  for (let at = bytes.length - 1, rest = address.value; at >= 0; at--, rest >>= 8n) bytes[at] = Number(rest & 0xffn);
  return bytes;
}
