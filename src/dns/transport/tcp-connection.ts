import type { Socket } from 'node:net';

import { clientAddressBytes } from '../../dnswire/address.ts';
import { toSlowPath } from './answerer.ts';
import type { WorkerContext, ClientAddresses } from './responder.ts';

/** Longer queries close the connection. */
const maxQueryBytes = 8192;
const lengthBytes = 2;
const maxMessageBytes = 65_535;
/** Replies to pipelined queries are written together up to this size. */
const outBytes = 2 * (maxMessageBytes + lengthBytes);

/** The buffer for replies; all connections of a thread share it, since none keeps it across turns. */
export const makeOutBuffer = (): Uint8Array => new Uint8Array(outBytes);

export interface ConnectionOptions {
  readonly context: WorkerContext;
  readonly out: Uint8Array;
  /** Outstanding slow-path queries; with more the socket is not read. */
  readonly maxOutstanding: number;
}

/** A connection of a client: pipelined queries, replies in the order in which they are ready. */
export class TcpConnection implements ClientAddresses {
  /** Time of the last complete query or reply; single bytes do not count. */
  lastActiveMs: number = performance.now();
  readonly address: string;
  readonly #socket: Socket;
  readonly #context: WorkerContext;
  readonly #out: Uint8Array;
  readonly #maxOutstanding: number;
  readonly #isInet6: boolean;
  readonly #port: number;
  /** The first part of an incomplete query. */
  #rest: Buffer | undefined;
  #outstanding = 0;
  #isEnding = false;

  constructor(socket: Socket, { context, out, maxOutstanding }: ConnectionOptions) {
    this.#socket = socket;
    this.#context = context;
    this.#out = out;
    this.#maxOutstanding = maxOutstanding;
    this.address = socket.remoteAddress ?? '';
    this.#port = socket.remotePort ?? 0;
    this.#isInet6 = socket.remoteFamily === 'IPv6';
    // Chunks are buffers: no encoding is set.
    socket.on('data', (chunk) => typeof chunk === 'string' || this.#receive(chunk));
    socket.on('drain', () => this.#resume());
    // After a half-close the queries received so far are answered.
    socket.on('end', () => this.end());
  }

  /** Whether nothing is outstanding, so that the connection may be closed. */
  get isIdle(): boolean {
    return this.#outstanding === 0 && this.#socket.writableLength === 0;
  }

  /** Whether the client waits for the slow path. */
  get isWaiting(): boolean {
    return this.#outstanding > 0 && this.#socket.writableLength === 0;
  }

  addressText(): string {
    return this.address;
  }

  /** Closes the connection when all outstanding queries are answered. */
  end(): void {
    this.#isEnding = true;
    if (this.#outstanding === 0) this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    const { responder, slowPath } = this.#context;
    const started = performance.now();
    let at = 0;
    let end = 0;
    let replies = 0;
    responder.begin();
    while (at + lengthBytes <= bytes.length) {
      const length = bytes.readUInt16BE(at);
      if (length > maxQueryBytes) {
        responder.end();
        this.destroy();
        return;
      }
      const start = at + lengthBytes;
      if (start + length > bytes.length) break;
      at = start + length;
      const made = this.#respond(bytes, start, length, end + lengthBytes);
      if (made <= 0) continue;
      replies++;
      this.#out[end] = made >> 8;
      this.#out[end + 1] = made & 0xff;
      end += lengthBytes + made;
      if (end > outBytes / 2) end = this.#write(end);
    }
    responder.end();
    this.#rest = at === bytes.length ? undefined : Buffer.from(bytes.subarray(at));
    if (at > 0) this.lastActiveMs = started;
    this.#write(end);
    if (replies > 0) responder.counters.duration(1, (performance.now() - started) / 1000, replies);
    slowPath.flush();
    this.#pauseIfFull();
  }

  #respond(bytes: Buffer, start: number, length: number, at: number): number {
    const { responder, slowPath } = this.#context;
    const made = responder.respond(bytes, start, length, this.#out, at, this.#isInet6, false, this, 0);
    if (made !== toSlowPath) return made;
    const client = { protocol: 'tcp', address: clientAddressBytes(this.address), port: this.#port } as const;
    const isSent = slowPath.send(bytes.subarray(start, start + length), client, (message, isLast) =>
      this.#replied(message, isLast),
    );
    if (isSent) this.#outstanding++;
    return 0;
  }

  /** Writes the buffer to the socket; returns the offset of the next reply. */
  #write(end: number): number {
    if (end > 0 && this.#socket.writable) this.#socket.write(Buffer.from(this.#out.subarray(0, end)));
    return 0;
  }

  #replied(message: Uint8Array | undefined, isLast: boolean): void {
    if (message !== undefined && this.#socket.writable) {
      const framed = Buffer.allocUnsafe(lengthBytes + message.length);
      framed.writeUInt16BE(message.length);
      framed.set(message, lengthBytes);
      this.#socket.write(framed);
      this.lastActiveMs = performance.now();
    }
    if (!isLast) return;
    this.#outstanding--;
    if (this.#isEnding && this.#outstanding === 0) this.#socket.end();
    else this.#resume();
  }

  /** Pauses reading while the client does not read replies or has too many outstanding queries. */
  #pauseIfFull(): void {
    if (this.#socket.writableNeedDrain || this.#outstanding >= this.#maxOutstanding) this.#socket.pause();
  }

  #resume(): void {
    const isFree = !this.#socket.writableNeedDrain && this.#outstanding < this.#maxOutstanding;
    if (isFree && this.#socket.isPaused()) this.#socket.resume();
  }
}
