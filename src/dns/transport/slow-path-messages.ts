// Encodes queries and replies between workers and the main thread: many in one message, as bytes, since posting is the
// largest part of the cost.
import { addressText } from '../../dnswire/address.ts';
import type { QueryClient } from '../prepared.ts';

/** A client with its address as bytes. */
export interface RawClient {
  readonly protocol: 'udp' | 'tcp';
  /** 4 or 16 bytes. */
  readonly address: Uint8Array;
  readonly port: number;
}

/** A query for the main thread. `token` identifies it in the worker. */
export interface SlowPathQuery {
  readonly token: number;
  readonly client: QueryClient;
  readonly query: Uint8Array;
}

/** A message of a reply; without a message the query is dropped. */
export interface SlowPathReply {
  readonly token: number;
  readonly message: Uint8Array | undefined;
  /** The last message for this token. */
  readonly isLast: boolean;
}

const queryHeaderBytes = 28;
const replyHeaderBytes = 9;
const lastFlag = 1;
const messageFlag = 2;

/** Encodes a query. */
export function packQuery(token: number, { protocol, address, port }: RawClient, query: Uint8Array): Uint8Array {
  const packed = new Uint8Array(queryHeaderBytes + query.length);
  const view = new DataView(packed.buffer);
  view.setUint32(0, token);
  packed[4] = protocol === 'udp' ? 0 : 1;
  packed[5] = address.length;
  view.setUint16(6, port);
  packed.set(address, 8);
  view.setUint32(24, query.length);
  packed.set(query, queryHeaderBytes);
  return packed;
}

/** Decodes the queries in a message of a worker. */
export function* unpackQueries(bytes: Uint8Array): Iterable<SlowPathQuery> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length;) {
    const end = at + queryHeaderBytes + view.getUint32(at + 24);
    const address = addressText(bytes.subarray(at + 8, at + 8 + (bytes[at + 5] ?? 0)));
    const protocol = bytes[at + 4] === 0 ? 'udp' : 'tcp';
    const client: QueryClient = { address, port: view.getUint16(at + 6), protocol };
    yield { token: view.getUint32(at), client, query: bytes.subarray(at + queryHeaderBytes, end) };
    at = end;
  }
}

/** Encodes a message of a reply. */
export function packReply({ token, message, isLast }: SlowPathReply): Uint8Array {
  const packed = new Uint8Array(replyHeaderBytes + (message?.length ?? 0));
  const view = new DataView(packed.buffer);
  view.setUint32(0, token);
  packed[4] = (isLast ? lastFlag : 0) | (message === undefined ? 0 : messageFlag);
  view.setUint32(5, message?.length ?? 0);
  if (message !== undefined) packed.set(message, replyHeaderBytes);
  return packed;
}

/** Decodes the replies in a message of the main thread. */
export function* unpackReplies(bytes: Uint8Array): Iterable<SlowPathReply> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length;) {
    const end = at + replyHeaderBytes + view.getUint32(at + 5);
    const flags = bytes[at + 4] ?? 0;
    const message = (flags & messageFlag) === 0 ? undefined : bytes.subarray(at + replyHeaderBytes, end);
    yield { token: view.getUint32(at), message, isLast: (flags & lastFlag) !== 0 };
    at = end;
  }
}
