import type { Socket } from 'node:net';

import { clientAddressBytes } from '../../dnswire/address.ts';
import { ask } from './answerer.ts';
import type { WorkerContext } from './listener.ts';
import type { ClientAddresses } from './responder.ts';

/** A query over TCP that is longer is not one we could answer. */
const maxQueryBytes = 8192;
const lengthBytes = 2;
const maxMessageBytes = 65_535;
/** Replies to queries that came together are written together, up to this much. */
const outBytes = 2 * (maxMessageBytes + lengthBytes);

/** Where replies are put together; one for all connections of a thread, since each uses it only while it runs. */
export const makeOutBuffer = (): Uint8Array => new Uint8Array(outBytes);

export interface ConnectionOptions {
  readonly context: WorkerContext;
  readonly out: Uint8Array;
  /** How many questions may wait for the main thread; then nothing more is read. */
  readonly maxOutstanding: number;
}

/** One client's connection: queries come one behind the other, and replies go out in the order they are ready. */
export class TcpConnection implements ClientAddresses {
  /** When the last whole query came or the last reply went; a client that sends a byte now and then does not move it. */
  lastActiveMs: number = performance.now();
  readonly address: string;
  readonly #socket: Socket;
  readonly #context: WorkerContext;
  readonly #out: Uint8Array;
  readonly #maxOutstanding: number;
  readonly #isInet6: boolean;
  readonly #port: number;
  /** The beginning of a query whose rest has not come. */
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
    // Without an encoding chunks are never text.
    socket.on('data', (chunk) => typeof chunk === 'string' || this.#take(chunk));
    socket.on('drain', () => this.#goOn());
    // The client may have sent all its questions before it half-closed; they are answered first.
    socket.on('end', () => this.end());
  }

  /** Nothing waits: the client could be told goodbye. */
  get isIdle(): boolean {
    return this.#outstanding === 0 && this.#socket.writableLength === 0;
  }

  /** We owe it an answer that is being worked on. */
  get isWaiting(): boolean {
    return this.#outstanding > 0 && this.#socket.writableLength === 0;
  }

  addressText(): string {
    return this.address;
  }

  /** Closes when what waits has been answered. */
  end(): void {
    this.#isEnding = true;
    if (this.#outstanding === 0) this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
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
    this.#holdBack();
  }

  #respond(bytes: Buffer, start: number, length: number, at: number): number {
    const { responder, slowPath } = this.#context;
    const made = responder.respond(bytes, start, length, this.#out, at, this.#isInet6, false, this, 0);
    if (made !== ask) return made;
    const client = { protocol: 'tcp', address: clientAddressBytes(this.address), port: this.#port } as const;
    const isAsked = slowPath.send(bytes.subarray(start, start + length), client, (message, isLast) =>
      this.#told(message, isLast),
    );
    if (isAsked) this.#outstanding++;
    return 0;
  }

  /** Writes what is in the buffer, which can be used again then; returns where the next reply goes. */
  #write(end: number): number {
    if (end > 0 && this.#socket.writable) this.#socket.write(Buffer.from(this.#out.subarray(0, end)));
    return 0;
  }

  #told(message: Uint8Array | undefined, isLast: boolean): void {
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
    else this.#goOn();
  }

  /** Who does not read its replies, or asks faster than we know, is not read from. */
  #holdBack(): void {
    if (this.#socket.writableNeedDrain || this.#outstanding >= this.#maxOutstanding) this.#socket.pause();
  }

  #goOn(): void {
    const isFree = !this.#socket.writableNeedDrain && this.#outstanding < this.#maxOutstanding;
    if (isFree && this.#socket.isPaused()) this.#socket.resume();
  }
}
