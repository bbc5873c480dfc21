import type { PreparedZone } from '../prepared.ts';
import { encodeName } from '../../dnswire/name.ts';
import type { Arena } from './arena.ts';
import type { TableReader } from './lookup.ts';
import { mailboxInZoneFlag, primaryInZoneFlag, unitBytes, zoneFixedBytes, zoneNamesBytes } from './layout.ts';

/** Encodes a name of the SOA record: completely, or up to the apex. */
function nameInZone(name: string, apex: Uint8Array): { readonly bytes: Uint8Array; readonly inZone: boolean } {
  const wire = encodeName(name);
  if (wire === undefined) throw new TypeError(`"${name}" is not a domain name and cannot be in a SOA record`);
  const rest = wire.length - apex.length;
  const tail = rest >= 0 && apex.length > 1 && startsLabel(wire, rest) ? wire.subarray(rest) : undefined;
  if (tail === undefined || !tail.every((byte, at) => byte === apex[at])) return { bytes: wire, inZone: false };
  return { bytes: wire.subarray(0, rest), inZone: true };
}

function startsLabel(wire: Uint8Array, offset: number): boolean {
  let at = 0;
  while (at < offset) at += (wire[at] ?? 0) + 1;
  return at === offset;
}

/** Encodes a zone's block without its serial; words are in the byte order of this machine. */
export function encodeZone({ apex, soa, soaTtl }: PreparedZone): Uint8Array {
  const wire = encodeName(apex);
  if (wire === undefined) throw new TypeError(`"${apex}" is not a domain name and cannot be a zone`);
  const primary = nameInZone(soa.primary, wire);
  const mailbox = nameInZone(soa.mailbox, wire);
  const block = new Uint8Array(zoneNamesBytes + primary.bytes.length + mailbox.bytes.length);
  const flags = (primary.inZone ? primaryInZoneFlag : 0) | (mailbox.inZone ? mailboxInZoneFlag : 0);
  const words = new Uint32Array(block.buffer, 0, zoneFixedBytes / 4);
  words[1] = wire.length | (primary.bytes.length << 8) | (mailbox.bytes.length << 16) | (flags << 24);
  words[2] = Math.ceil(block.length / unitBytes);
  const view = new DataView(block.buffer);
  // RFC 2308 §5: the TTL of negative answers is the lower of the two.
  view.setUint32(zoneFixedBytes, Math.min(soaTtl, soa.minimum));
  const numbers = [soa.refresh, soa.retry, soa.expire, soa.minimum];
  for (const [index, number] of numbers.entries()) view.setUint32(zoneFixedBytes + 4 + index * 4, number);
  block.set(primary.bytes, zoneNamesBytes);
  block.set(mailbox.bytes, zoneNamesBytes + primary.bytes.length);
  return block;
}

/** Writes a block. */
export function writeZone(arena: Arena, at: number, encoded: Uint8Array, serial: number): void {
  arena.bytes.set(encoded, at);
  arena.words[at >> 2] = serial | 0;
}

/** The size of the largest SOA record: two names of 255 bytes. */
export const maxSoaBytes: number = 2 + 10 + 2 * 255 + 20;

/**
 * Writes the SOA record of a zone at `at`, for a question whose name ends at `nameEnd` (its zero byte included); returns the
 * offset after it. The names of the zone point into the question.
 */
export function writeSoa(table: TableReader, zone: number, out: Uint8Array, at: number, nameEnd: number): number {
  const { bytes, words } = table;
  const sizes = words[(zone >> 2) + 1] ?? 0;
  const apex = 0xc000 | (nameEnd - (sizes & 0xff));
  let end = putShort(out, at, apex);
  end = putShort(out, end, 6);
  end = putShort(out, end, 1);
  for (let index = 0; index < 4; index++) out[end++] = bytes[zone + zoneFixedBytes + index] ?? 0;
  const lengthAt = end;
  end += 2;
  const primary = (sizes >>> 8) & 0xff;
  const mailbox = (sizes >>> 16) & 0xff;
  let from = zone + zoneNamesBytes;
  for (let index = 0; index < primary; index++) out[end++] = bytes[from++] ?? 0;
  if ((sizes >>> 24) & primaryInZoneFlag) end = putShort(out, end, apex);
  for (let index = 0; index < mailbox; index++) out[end++] = bytes[from++] ?? 0;
  if ((sizes >>> 24) & mailboxInZoneFlag) end = putShort(out, end, apex);
  const serial = Atomics.load(words, zone >> 2);
  end = putShort(out, end, serial >>> 16);
  end = putShort(out, end, serial & 0xffff);
  for (let index = 4; index < 20; index++) out[end++] = bytes[zone + zoneFixedBytes + index] ?? 0;
  putShort(out, lengthAt, end - lengthAt - 2);
  return end;
}

function putShort(out: Uint8Array, at: number, value: number): number {
  out[at] = value >>> 8;
  out[at + 1] = value;
  return at + 2;
}
