// The frames of SPDY/3.1 that clients and servers of Kubernetes exchange.
//
//     control  1 | version:15 | type:16 | flags:8 | length:24 | payload
//     data     0 | stream:31           | flags:8 | length:24 | payload

import type { StreamHeaders } from './header-block.ts';
import { HeaderDecoder, HeaderEncoder, SpdyProtocolError } from './header-block.ts';

/** A frame, except that `data` may be a part of a data frame: its bytes are delivered as they arrive. */
export type Frame =
  | { readonly type: 'open'; readonly stream: number; readonly headers: StreamHeaders; readonly isLast: boolean }
  | { readonly type: 'reply'; readonly stream: number; readonly headers: StreamHeaders; readonly isLast: boolean }
  | { readonly type: 'headers'; readonly stream: number; readonly headers: StreamHeaders; readonly isLast: boolean }
  | { readonly type: 'data'; readonly stream: number; readonly data: Buffer; readonly isLast: boolean }
  | { readonly type: 'reset'; readonly stream: number; readonly status: number }
  | { readonly type: 'ping'; readonly id: number }
  | { readonly type: 'goAway'; readonly lastStream: number };

/** Why a stream is reset. */
export const resetStatus = {
  protocolError: 1,
  invalidStream: 2,
  refusedStream: 3,
  cancel: 5,
  internalError: 6,
} as const;

const version = 3;
const typeNumbers = {
  open: 1,
  reply: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;
const finFlag = 1;
const headBytes = 8;
const maxStreamId = 0x7fffffff;
/** Payloads of control frames are buffered until they are complete. */
const maxControlBytes = 64 * 1024;

/** The largest payload of a data frame that is sent; larger ones would delay other streams of the connection. */
export const maxDataBytes = 32 * 1024;

/** Encodes the frames of one direction of a connection. */
export class FrameEncoder {
  readonly #headers = new HeaderEncoder();

  encode(frame: Frame): Buffer {
    switch (frame.type) {
      case 'data':
        return Buffer.concat([dataHead(frame.stream, frame.data.length, frame.isLast), frame.data]);
      case 'open':
        // No associated stream, priority 0.
        return this.#control('open', frame, [
          uint32(frame.stream),
          Buffer.alloc(6),
          this.#headers.encode(frame.headers),
        ]);
      case 'reply':
      case 'headers':
        return this.#control(frame.type, frame, [uint32(frame.stream), this.#headers.encode(frame.headers)]);
      case 'reset':
        return this.#control('reset', {}, [uint32(frame.stream), uint32(frame.status)]);
      case 'ping':
        return this.#control('ping', {}, [uint32(frame.id)]);
      case 'goAway':
        return this.#control('goAway', {}, [uint32(frame.lastStream), uint32(0)]);
    }
  }

  #control(
    type: keyof typeof typeNumbers,
    { isLast = false }: { readonly isLast?: boolean },
    payload: Buffer[],
  ): Buffer {
    const body = Buffer.concat(payload);
    const head = Buffer.alloc(headBytes);
    head.writeUInt16BE(0x8000 | version, 0);
    head.writeUInt16BE(typeNumbers[type], 2);
    head.writeUInt32BE((isLast ? finFlag << 24 : 0) | body.length, 4);
    return Buffer.concat([head, body]);
  }
}

/** The first bytes of a data frame. */
export function dataHead(stream: number, length: number, isLast: boolean): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(stream, 0);
  head.writeUInt32BE(length, 4);
  head.writeUInt8(isLast ? finFlag : 0, 4);
  return head;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Parses the frames of one direction of a connection, from chunks of any size. */
export class FrameParser {
  readonly #headers = new HeaderDecoder();
  /** Bytes of an incomplete head or control frame. */
  #rest: Buffer = Buffer.alloc(0);
  /** The data frame whose payload has not arrived completely. */
  #data: { readonly stream: number; readonly isLast: boolean; missing: number } | undefined;

  /** Returns the frames that are complete with this chunk. Throws `SpdyProtocolError`; the parser must not be used then. */
  push(chunk: Buffer): readonly Frame[] {
    const frames: Frame[] = [];
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const used = this.#data === undefined ? this.#frame(bytes, frames) : this.#payload(this.#data, bytes, frames);
      if (used === 0) break;
      bytes = bytes.subarray(used);
    }
    // A copy, so that the rest does not keep the whole chunk.
    this.#rest = bytes.length === 0 ? bytes : Buffer.from(bytes);
    return frames;
  }

  /** Parses one head with its control payload; returns the bytes used, 0 if more are needed. */
  #frame(bytes: Buffer, frames: Frame[]): number {
    if (bytes.length < headBytes) return 0;
    const first = bytes.readUInt32BE(0);
    const flags = bytes.readUInt8(4);
    const length = bytes.readUIntBE(5, 3);
    if (first >>> 31 === 0) {
      if (first === 0) throw new SpdyProtocolError('data for stream 0');
      const isLast = (flags & finFlag) !== 0;
      if (length === 0) frames.push({ type: 'data', stream: first, data: Buffer.alloc(0), isLast });
      else this.#data = { stream: first, isLast, missing: length };
      return headBytes;
    }
    if (((first >>> 16) & 0x7fff) !== version)
      throw new SpdyProtocolError(`SPDY version ${(first >>> 16) & 0x7fff} is not 3`);
    if (length > maxControlBytes)
      throw new SpdyProtocolError(`a control frame of ${length} bytes exceeds ${maxControlBytes}`);
    if (bytes.length < headBytes + length) return 0;
    const frame = this.#control(first & 0xffff, flags, bytes.subarray(headBytes, headBytes + length));
    if (frame !== undefined) frames.push(frame);
    return headBytes + length;
  }

  #payload(data: { stream: number; isLast: boolean; missing: number }, bytes: Buffer, frames: Frame[]): number {
    if (bytes.length === 0) return 0;
    const piece = bytes.subarray(0, data.missing);
    data.missing -= piece.length;
    const isComplete = data.missing === 0;
    frames.push({ type: 'data', stream: data.stream, data: piece, isLast: data.isLast && isComplete });
    if (isComplete) this.#data = undefined;
    return piece.length;
  }

  /** Frames without a meaning for us, such as WINDOW_UPDATE, are ignored: there is no flow control. */
  #control(type: number, flags: number, payload: Buffer): Frame | undefined {
    const isLast = (flags & finFlag) !== 0;
    switch (type) {
      case typeNumbers.open:
        return {
          type: 'open',
          stream: streamId(payload, 10),
          headers: this.#headers.decode(payload.subarray(10)),
          isLast,
        };
      case typeNumbers.reply:
        return {
          type: 'reply',
          stream: streamId(payload, 4),
          headers: this.#headers.decode(payload.subarray(4)),
          isLast,
        };
      case typeNumbers.headers:
        return {
          type: 'headers',
          stream: streamId(payload, 4),
          headers: this.#headers.decode(payload.subarray(4)),
          isLast,
        };
      case typeNumbers.reset:
        return { type: 'reset', stream: streamId(payload, 8), status: payload.readUInt32BE(4) };
      case typeNumbers.ping:
        if (payload.length < 4) throw new SpdyProtocolError('truncated PING');
        return { type: 'ping', id: payload.readUInt32BE(0) };
      case typeNumbers.goAway:
        if (payload.length < 8) throw new SpdyProtocolError('truncated GOAWAY');
        return { type: 'goAway', lastStream: payload.readUInt32BE(0) & maxStreamId };
      default:
        return undefined;
    }
  }
}

function streamId(payload: Buffer, leastBytes: number): number {
  if (payload.length < leastBytes) throw new SpdyProtocolError('truncated control frame');
  const id = payload.readUInt32BE(0) & maxStreamId;
  if (id === 0) throw new SpdyProtocolError('control frame for stream 0');
  return id;
}
