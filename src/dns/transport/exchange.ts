// How workers and the main thread hand questions and replies to each other: many in one message, as bytes, since posting
// costs more than all else about it.
import type { Asker } from '../prepared.ts';

/** Who asks, as a worker knows it. */
export interface RawAsker {
  readonly protocol: 'udp' | 'tcp';
  /** 4 or 16 bytes. */
  readonly address: Uint8Array;
  readonly port: number;
}

/** A question on its way to the main thread. `token`: the worker's name for it. */
export interface Ask {
  readonly token: number;
  readonly asker: Asker;
  readonly query: Uint8Array;
}

/** A message on its way to who asked; none: there is nothing to send. */
export interface Told {
  readonly token: number;
  readonly message: Uint8Array | undefined;
  /** No other follows for this token. */
  readonly isLast: boolean;
}

const askBytes = 28;
const toldBytes = 9;
const lastFlag = 1;
const messageFlag = 2;

/** One question as bytes. */
export function packAsk(token: number, { protocol, address, port }: RawAsker, query: Uint8Array): Uint8Array {
  const packed = new Uint8Array(askBytes + query.length);
  const view = new DataView(packed.buffer);
  view.setUint32(0, token);
  packed[4] = protocol === 'udp' ? 0 : 1;
  packed[5] = address.length;
  view.setUint16(6, port);
  packed.set(address, 8);
  view.setUint32(24, query.length);
  packed.set(query, askBytes);
  return packed;
}

/** The questions of a message from a worker. */
export function* unpackAsks(bytes: Uint8Array): Iterable<Ask> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length;) {
    const end = at + askBytes + view.getUint32(at + 24);
    const address = printAddressBytes(bytes.subarray(at + 8, at + 8 + (bytes[at + 5] ?? 0)));
    const protocol = bytes[at + 4] === 0 ? 'udp' : 'tcp';
    const asker: Asker = { address, port: view.getUint16(at + 6), protocol };
    yield { token: view.getUint32(at), asker, query: bytes.subarray(at + askBytes, end) };
    at = end;
  }
}

/** One reply as bytes. */
export function packTold({ token, message, isLast }: Told): Uint8Array {
  const packed = new Uint8Array(toldBytes + (message?.length ?? 0));
  const view = new DataView(packed.buffer);
  view.setUint32(0, token);
  packed[4] = (isLast ? lastFlag : 0) | (message === undefined ? 0 : messageFlag);
  view.setUint32(5, message?.length ?? 0);
  if (message !== undefined) packed.set(message, toldBytes);
  return packed;
}

/** The replies of a message from the main thread. */
export function* unpackTold(bytes: Uint8Array): Iterable<Told> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length;) {
    const end = at + toldBytes + view.getUint32(at + 5);
    const flags = bytes[at + 4] ?? 0;
    const message = (flags & messageFlag) === 0 ? undefined : bytes.subarray(at + toldBytes, end);
    yield { token: view.getUint32(at), message, isLast: (flags & lastFlag) !== 0 };
    at = end;
  }
}

/** An address as text. An IPv4 address that came over IPv6 is shown as IPv4. */
export function printAddressBytes(bytes: Uint8Array): string {
  if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`;
  const isMapped = bytes[10] === 0xff && bytes[11] === 0xff && bytes.subarray(0, 10).every((byte) => byte === 0);
  if (isMapped) return printAddressBytes(bytes.subarray(12));
  const groups = Array.from({ length: 8 }, (_, index) => ((bytes[index * 2] ?? 0) << 8) | (bytes[index * 2 + 1] ?? 0));
  return shorten(groups);
}

/** RFC 5952: the longest run of two zero groups or more, the first of equals, becomes `::`. */
function shorten(groups: readonly number[]): string {
  let best = { start: 0, length: 1 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  const text = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(':');
  if (best.length < 2) return text(groups);
  return `${text(groups.slice(0, best.start))}::${text(groups.slice(best.start + best.length))}`;
}
