// Test clients: queries over UDP, and a TCP connection that reads framed replies.
import type { Socket as UdpSocket } from 'node:dgram';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect, isIPv6 } from 'node:net';

import type { ListenAddress } from '../protocol.ts';

const answerTimeoutMs = 30_000;

/** Replies by id, over one UDP socket. */
export class UdpClient implements AsyncDisposable {
  readonly #socket: UdpSocket;
  readonly #waiting = new Map<number, (reply: Buffer | undefined) => void>();
  /** The source of the last reply. */
  lastFrom = '';

  constructor(address: string) {
    this.#socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    this.#socket.on('message', (reply, from) => {
      this.lastFrom = from.address;
      this.#waiting.get(reply.readUInt16BE(0))?.(reply);
    });
  }

  /** Sends a query with an id; resolves to the reply, or undefined after a timeout. */
  async ask(
    { address, port }: ListenAddress,
    query: Buffer,
    { id = 1, timeoutMs = answerTimeoutMs }: { readonly id?: number; readonly timeoutMs?: number } = {},
  ): Promise<Buffer | undefined> {
    const bytes = Buffer.from(query);
    bytes.writeUInt16BE(id, 0);
    const { promise, resolve } = Promise.withResolvers<Buffer | undefined>();
    this.#waiting.set(id, resolve);
    const timer = setTimeout(() => resolve(undefined), timeoutMs);
    this.#socket.send(bytes, port, address);
    const reply = await promise;
    clearTimeout(timer);
    this.#waiting.delete(id);
    return reply;
  }

  /** Stops waiting: missing replies are not expected. */
  giveUp(): void {
    for (const resolve of this.#waiting.values()) resolve(undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close();
    await once(this.#socket, 'close');
  }
}

/** A query framed for TCP. */
export function framed(query: Uint8Array, id: number = 1): Buffer {
  const bytes = Buffer.alloc(query.length + 2);
  bytes.writeUInt16BE(query.length, 0);
  bytes.set(query, 2);
  bytes.writeUInt16BE(id, 2);
  return bytes;
}

/** A TCP connection that returns replies one by one; undefined when it was closed. */
export class TcpClient implements Disposable {
  readonly socket: Socket;
  #bytes: Buffer = Buffer.alloc(0);
  #isClosed = false;
  #wake: (() => void) | undefined;

  constructor({ address, port }: ListenAddress) {
    this.socket = connect({ host: address, port, allowHalfOpen: true });
    this.socket.on('data', (chunk: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      this.#wake?.();
    });
    for (const event of ['end', 'close', 'error'] as const) {
      this.socket.on(event, () => {
        this.#isClosed = true;
        this.#wake?.();
      });
    }
  }

  async next(): Promise<Buffer | undefined> {
    for (;;) {
      const length = this.#bytes.length < 2 ? Infinity : this.#bytes.readUInt16BE(0);
      if (this.#bytes.length >= length + 2) {
        const reply = this.#bytes.subarray(2, length + 2);
        this.#bytes = this.#bytes.subarray(length + 2);
        return reply;
      }
      if (this.#isClosed) return undefined;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}
