// The frames of WebSocket (RFC 6455 §5).

/** Thrown for bytes that break the protocol; `code` is the code to close with. */
export class WebSocketProtocolError extends Error {
  readonly code: number;

  constructor(message: string, code: number = closeCodes.protocolError) {
    super(message);
    this.code = code;
  }
}

export const closeCodes = {
  normal: 1000,
  goingAway: 1001,
  protocolError: 1002,
  noStatus: 1005,
  internalError: 1011,
} as const;

/**
 * A piece of a message, or a control frame. Messages are delivered as their bytes arrive, so that a message of any size
 * needs no memory.
 */
export type Frame =
  | {
      readonly type: 'data';
      readonly data: Buffer;
      readonly isText: boolean;
      readonly isFirst: boolean;
      readonly isLast: boolean;
    }
  | { readonly type: 'ping' | 'pong'; readonly data: Buffer }
  | { readonly type: 'close'; readonly code: number };

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const maxControlBytes = 125;

/** Encodes one frame. `mask`: four bytes for frames of a client, undefined for those of a server. */
export function encodeFrame(
  type: 'text' | 'binary' | 'close' | 'ping' | 'pong',
  payload: Buffer,
  mask?: Buffer,
): Buffer {
  const head = frameHead(type, payload.length, mask);
  return Buffer.concat([head, mask === undefined ? payload : masked(payload, mask, 0)]);
}

/** The bytes of a frame before its payload. */
export function frameHead(type: 'text' | 'binary' | 'close' | 'ping' | 'pong', length: number, mask?: Buffer): Buffer {
  const short = length < 126 ? length : length < 65_536 ? 126 : 127;
  const head = Buffer.alloc(2 + (short === 126 ? 2 : short === 127 ? 8 : 0));
  head[0] = 0x80 | opcodes[type];
  head[1] = short | (mask === undefined ? 0 : 0x80);
  if (short === 126) head.writeUInt16BE(length, 2);
  if (short === 127) head.writeUIntBE(length, 4, 6);
  return mask === undefined ? head : Buffer.concat([head, mask]);
}

/** The payload of a close frame. */
export function closePayload(code: number): Buffer {
  if (code === closeCodes.noStatus) return Buffer.alloc(0);
  const payload = Buffer.alloc(2);
  payload.writeUInt16BE(code);
  return payload;
}

interface Head {
  readonly opcode: number;
  readonly isFinal: boolean;
  readonly mask: Buffer | undefined;
  readonly headBytes: number;
  readonly length: number;
}

/** Parses the frames of one direction of a connection, from chunks of any size. */
export class FrameParser {
  readonly #isMasked: boolean;
  /** Bytes of an incomplete head or control frame. */
  #rest: Buffer = Buffer.alloc(0);
  /** The message that has begun and has not ended. */
  #message: { readonly isText: boolean; isFirst: boolean } | undefined;
  /** The frame of that message whose payload has not arrived completely. */
  #payload:
    | { readonly mask: Buffer | undefined; readonly isFinal: boolean; offset: number; missing: number }
    | undefined;

  /** `from`: clients must mask their frames, servers must not. */
  constructor(from: 'client' | 'server') {
    this.#isMasked = from === 'client';
  }

  /** Returns the pieces in this chunk. Throws `WebSocketProtocolError`; the parser must not be used then. */
  push(chunk: Buffer): readonly Frame[] {
    const frames: Frame[] = [];
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const used = this.#payload === undefined ? this.#frame(bytes, frames) : this.#piece(this.#payload, bytes, frames);
      if (used === 0) break;
      bytes = bytes.subarray(used);
    }
    this.#rest = bytes.length === 0 ? bytes : Buffer.from(bytes);
    return frames;
  }

  #frame(bytes: Buffer, frames: Frame[]): number {
    const head = parseHead(bytes);
    if (head === undefined) return 0;
    if ((head.mask !== undefined) !== this.#isMasked) throw new WebSocketProtocolError('wrong masking');
    if (head.opcode >= opcodes.close) return this.#control(head, bytes, frames);
    if (head.opcode > opcodes.binary) throw new WebSocketProtocolError(`opcode ${head.opcode} is unknown`);
    const isContinuation = head.opcode === opcodes.continuation;
    if (isContinuation !== (this.#message !== undefined)) throw new WebSocketProtocolError('a message in a message');
    this.#message ??= { isText: head.opcode === opcodes.text, isFirst: true };
    this.#payload = { mask: head.mask, isFinal: head.isFinal, offset: 0, missing: head.length };
    if (head.length === 0) this.#piece(this.#payload, Buffer.alloc(0), frames);
    return head.headBytes;
  }

  #piece(
    payload: { mask: Buffer | undefined; isFinal: boolean; offset: number; missing: number },
    bytes: Buffer,
    frames: Frame[],
  ): number {
    const message = this.#message;
    if (message === undefined || (bytes.length === 0 && payload.missing > 0)) return 0;
    const piece = bytes.subarray(0, payload.missing);
    const data = payload.mask === undefined ? piece : masked(piece, payload.mask, payload.offset);
    payload.offset += piece.length;
    payload.missing -= piece.length;
    const isLast = payload.missing === 0 && payload.isFinal;
    frames.push({ type: 'data', data, isText: message.isText, isFirst: message.isFirst, isLast });
    message.isFirst = false;
    if (payload.missing === 0) this.#payload = undefined;
    if (isLast) this.#message = undefined;
    return piece.length;
  }

  #control(head: Head, bytes: Buffer, frames: Frame[]): number {
    if (head.length > maxControlBytes || !head.isFinal) throw new WebSocketProtocolError('a control frame is too long');
    const total = head.headBytes + head.length;
    if (bytes.length < total) return 0;
    const sent = bytes.subarray(head.headBytes, total);
    const data = head.mask === undefined ? Buffer.from(sent) : masked(sent, head.mask, 0);
    if (head.opcode === opcodes.ping) frames.push({ type: 'ping', data });
    else if (head.opcode === opcodes.pong) frames.push({ type: 'pong', data });
    else if (head.opcode === opcodes.close) {
      frames.push({ type: 'close', code: data.length >= 2 ? data.readUInt16BE(0) : closeCodes.noStatus });
    } else throw new WebSocketProtocolError(`opcode ${head.opcode} is unknown`);
    return total;
  }
}

function parseHead(bytes: Buffer): Head | undefined {
  const [first = 0, second = 0] = bytes;
  if (bytes.length < 2) return undefined;
  // No extension was negotiated.
  if ((first & 0x70) !== 0) throw new WebSocketProtocolError('reserved bits are set');
  const short = second & 0x7f;
  const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const isMasked = (second & 0x80) !== 0;
  const headBytes = 2 + lengthBytes + (isMasked ? 4 : 0);
  if (bytes.length < headBytes) return undefined;
  if (lengthBytes === 8 && bytes.readUInt16BE(2) !== 0) throw new WebSocketProtocolError('a frame is too long', 1009);
  const length = lengthBytes === 2 ? bytes.readUInt16BE(2) : lengthBytes === 8 ? bytes.readUIntBE(4, 6) : short;
  return {
    opcode: first & 0x0f,
    isFinal: (first & 0x80) !== 0,
    mask: isMasked ? Buffer.from(bytes.subarray(headBytes - 4, headBytes)) : undefined,
    headBytes,
    length,
  };
}

/** Masks or unmasks bytes; `offset` is their position in the payload. Returns a copy. */
function masked(bytes: Buffer, mask: Buffer, offset: number): Buffer {
  const out = Buffer.allocUnsafe(bytes.length);
  const turned = Buffer.from([0, 1, 2, 3].map((index) => mask[(index + offset) & 3] ?? 0));
  for (let index = 0; index < bytes.length; index++) out[index] = (bytes[index] ?? 0) ^ (turned[index & 3] ?? 0);
  return out;
}
