// Encodes and parses records.
import type { Name, RecordData } from './data.ts';
import { addressBytes, addressText } from './address.ts';
import { types } from './codes.ts';
import { encodeName, expandName, readName } from './name.ts';

/** A record of any type. Names in `data` are not compressed. */
export interface RawRecord {
  readonly owner: Name;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  readonly data: Uint8Array;
}

/** A part of the data of a type, up to its last name: a name, a character string, or a number of bytes. */
export type DataPiece = 'name' | 'string' | number;

/** Types whose names may be compressed when sent (RFC 1035), with the layout of their data. */
export const compressibleLayouts: ReadonlyMap<number, readonly DataPiece[]> = new Map<number, readonly DataPiece[]>([
  [2, ['name']],
  [3, ['name']],
  [4, ['name']],
  [5, ['name']],
  [6, ['name', 'name']],
  [7, ['name']],
  [8, ['name']],
  [9, ['name']],
  [12, ['name']],
  [14, ['name', 'name']],
  [15, [2, 'name']],
]);

/** Types whose names must be accepted with compression (RFC 3597 §4), though it must not be sent. */
const readableLayouts: ReadonlyMap<number, readonly DataPiece[]> = new Map<number, readonly DataPiece[]>([
  ...compressibleLayouts,
  [17, ['name', 'name']],
  [18, [2, 'name']],
  [21, [2, 'name']],
  [24, [18, 'name']],
  [26, [2, 'name', 'name']],
  [30, ['name']],
  [33, [6, 'name']],
  [35, [4, 'string', 'string', 'string', 'name']],
  [36, [2, 'name']],
  [39, ['name']],
]);

/** Parses the record at an offset; `end` is the offset after it; undefined if it is malformed. */
export function readRecord(
  bytes: Uint8Array,
  offset: number,
): { readonly record: RawRecord; readonly end: number } | undefined {
  const owner = readName(bytes, offset);
  if (owner === undefined || owner.end + 10 > bytes.length) return undefined;
  const at = owner.end;
  const start = at + 10;
  const end = start + readUint16(bytes, at + 8);
  if (end > bytes.length) return undefined;
  const type = readUint16(bytes, at);
  const data = expandData(bytes.subarray(0, end), start, readableLayouts.get(type));
  if (data === undefined) return undefined;
  const record = { owner: owner.name, type, class: readUint16(bytes, at + 2), ttl: readUint32(bytes, at + 4), data };
  return { record, end };
}

/** Copies the data from an offset to the end of `bytes` and expands its names. */
function expandData(
  bytes: Uint8Array,
  start: number,
  layout: readonly DataPiece[] | undefined,
): Uint8Array | undefined {
  // UPDATE messages have records without data.
  if (layout === undefined || start === bytes.length) return bytes.slice(start);
  const pieces: Uint8Array[] = [];
  let at = start;
  for (const piece of layout) {
    const read = piece === 'name' ? expandName(bytes, at) : readBytes(bytes, at, piece);
    if (read === undefined) return undefined;
    pieces.push(read.wire);
    at = read.end;
  }
  return concat([...pieces, bytes.subarray(at)]);
}

function readBytes(
  bytes: Uint8Array,
  at: number,
  piece: 'string' | number,
): { readonly wire: Uint8Array; readonly end: number } | undefined {
  const end = at + (piece === 'string' ? (bytes[at] ?? bytes.length) + 1 : piece);
  return end > bytes.length ? undefined : { wire: bytes.subarray(at, end), end };
}

/** Encodes the data of a record without compression; undefined if a name is too long or an address invalid. */
export function encodeRecord(data: RecordData): Uint8Array | undefined {
  switch (data.type) {
    case 'A':
    case 'AAAA':
      return encodeAddress(data.address, data.type === 'A' ? 4 : 16);
    case 'NS':
    case 'CNAME':
    case 'PTR':
      return encodeName(data.target);
    case 'SRV': {
      const target = encodeName(data.target);
      return target && concat([uint16s(data.priority, data.weight, data.port), target]);
    }
    case 'TXT':
      return encodeText(data.text);
    case 'SOA': {
      const primary = encodeName(data.primary);
      const mailbox = encodeName(data.mailbox);
      return primary && mailbox && concat([primary, mailbox, soaNumbers(data)]);
    }
  }
}

/** The five numbers at the end of a SOA record. */
export function soaNumbers(data: RecordData & { readonly type: 'SOA' }): Uint8Array {
  const bytes = new Uint8Array(20);
  const view = new DataView(bytes.buffer);
  const numbers = [data.serial, data.refresh, data.retry, data.expire, data.minimum];
  for (const [index, number] of numbers.entries()) view.setUint32(index * 4, number);
  return bytes;
}

function encodeAddress(text: string, size: 4 | 16): Uint8Array | undefined {
  const bytes = addressBytes(text);
  return bytes?.length === size ? bytes : undefined;
}

function encodeText(text: readonly string[]): Uint8Array | undefined {
  const strings = text.map((each) => Buffer.from(each));
  if (strings.length === 0 || strings.some(({ length }) => length > 255)) return undefined;
  return concat(strings.flatMap((each) => [Uint8Array.of(each.length), each]));
}

/** Parses data of the types of `RecordData`; undefined for other types and malformed data. */
export function readData(type: number, data: Uint8Array): RecordData | undefined {
  switch (type) {
    case types.A:
      return data.length === 4 ? { type: 'A', address: addressText(data) } : undefined;
    case types.AAAA:
      return data.length === 16 ? { type: 'AAAA', address: addressText(data) } : undefined;
    case types.NS:
      return withTarget('NS', data);
    case types.CNAME:
      return withTarget('CNAME', data);
    case types.PTR:
      return withTarget('PTR', data);
    case types.SRV:
      return readSrv(data);
    case types.TXT:
      return readText(data);
    case types.SOA:
      return readSoa(data);
    default:
      return undefined;
  }
}

function withTarget(type: 'NS' | 'CNAME' | 'PTR', data: Uint8Array): RecordData | undefined {
  const target = readName(data, 0);
  return target?.end === data.length ? { type, target: target.name } : undefined;
}

function readSrv(data: Uint8Array): RecordData | undefined {
  const target = readName(data, 6);
  if (target?.end !== data.length) return undefined;
  const [priority, weight, port] = [readUint16(data, 0), readUint16(data, 2), readUint16(data, 4)];
  return { type: 'SRV', priority, weight, port, target: target.name };
}

function readText(data: Uint8Array): RecordData | undefined {
  const text: string[] = [];
  for (let at = 0; at < data.length;) {
    const end = at + 1 + (data[at] ?? 0);
    if (end > data.length) return undefined;
    text.push(Buffer.from(data.subarray(at + 1, end)).toString());
    at = end;
  }
  return { type: 'TXT', text };
}

function readSoa(data: Uint8Array): RecordData | undefined {
  const primary = readName(data, 0);
  const mailbox = primary && readName(data, primary.end);
  if (mailbox === undefined || mailbox.end + 20 !== data.length) return undefined;
  const number = (index: number): number => readUint32(data, mailbox.end + 4 * index);
  const [serial, refresh, retry, expire, minimum] = [number(0), number(1), number(2), number(3), number(4)];
  const names = { primary: primary?.name ?? '', mailbox: mailbox.name };
  return { type: 'SOA', ...names, serial, refresh, retry, expire, minimum };
}

/** Reads two bytes; bytes beyond the end are zero, so check the length first. */
export const readUint16 = (bytes: Uint8Array, at: number): number => ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);

/** Reads four bytes. */
export const readUint32 = (bytes: Uint8Array, at: number): number =>
  readUint16(bytes, at) * 0x1_0000 + readUint16(bytes, at + 2);

/** Encodes numbers of two bytes each. */
export function uint16s(...numbers: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(numbers.length * 2);
  for (let index = 0; index < numbers.length; index++) {
    const number = numbers[index] ?? 0;
    bytes[index * 2] = number >> 8;
    bytes[index * 2 + 1] = number;
  }
  return bytes;
}

/** Copies byte arrays into one. */
export function concat(pieces: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
