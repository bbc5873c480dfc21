import type { RemoteInfo, Socket } from 'node:dgram';
import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { clientAddressBytes } from '../../dnswire/address.ts';
import { toSlowPath, maxUdpReplyBytes } from './answerer.ts';
import { clientOf } from './slow-path-client.ts';
import type { Listener, WorkerContext, ClientAddresses } from './responder.ts';
import { listenError } from './native.ts';

/** Buffers bursts while a query is answered. */
const receiveBufferBytes = 4 * 1024 * 1024;
/** A socket stays open this long after the last query. */
const quietMs = 20;

export interface DgramOptions {
  readonly address: string;
  readonly port: number;
  /** Whether other sockets share the port. */
  readonly reusePort: boolean;
  readonly context: WorkerContext;
}

/** Answers datagrams with Node's sockets, where batched I/O is unavailable. */
export class UdpDgramListener implements Listener, ClientAddresses {
  readonly #socket: Socket;
  readonly #context: WorkerContext;
  readonly #isInet6: boolean;
  readonly #out = new Uint8Array(maxUdpReplyBytes + 48);
  #lastAddress = '';
  #lastQueryMs = 0;

  private constructor(socket: Socket, context: WorkerContext, isInet6: boolean) {
    this.#socket = socket;
    this.#context = context;
    this.#isInet6 = isInet6;
    socket.on('message', (query, from) => this.#answer(query, from));
    // A failed send loses one reply.
    socket.on('error', () => this.#context.responder.counters.count('unsent'));
  }

  static async open({ address, port, reusePort, context }: DgramOptions): Promise<UdpDgramListener> {
    const isInet6 = isIPv6(address);
    const socket = createSocket({
      type: isInet6 ? 'udp6' : 'udp4',
      ipv6Only: isInet6,
      recvBufferSize: receiveBufferBytes,
      reusePort,
      // Destinations are addresses: no resolver, which would cost a turn of the event loop.
      lookup: (host, _options, callback) => callback(null, host, isInet6 ? 6 : 4),
    });
    await bind(socket, address, port);
    return new UdpDgramListener(socket, context, isInet6);
  }

  get port(): number {
    return this.#socket.address().port;
  }

  addressText(): string {
    return this.#lastAddress;
  }

  async drain(): Promise<void> {
    do await delay(quietMs);
    while (performance.now() - this.#lastQueryMs < quietMs);
  }

  close(): void {
    this.#socket.close();
  }

  #answer(query: Buffer, from: RemoteInfo): void {
    const { responder, slowPath } = this.#context;
    const out = this.#out;
    const started = performance.now();
    this.#lastAddress = from.address;
    this.#lastQueryMs = started;
    responder.begin();
    const made = responder.respond(query, 0, query.length, out, 0, this.#isInet6, true, this, 0);
    responder.end();
    if (made === toSlowPath) {
      const { address, port } = from;
      const client = { protocol: 'udp', address: clientAddressBytes(address), port } as const;
      slowPath.send(query, client, (message) => {
        if (message !== undefined) this.#socket.send(message, port, address);
      });
      slowPath.flush();
      return;
    }
    if (made <= 0) return;
    const client = responder.hasLimit ? clientOf(clientAddressBytes(from.address)) : 0;
    const length = responder.limit(client, started, out, 0, made);
    // A copy: sending may happen after the next reply was written.
    if (length > 0) this.#socket.send(Buffer.from(out.subarray(0, length)), from.port, from.address);
    responder.counters.duration(0, (performance.now() - started) / 1000, 1);
  }
}

async function bind(socket: Socket, address: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once('error', reject);
  socket.bind({ address, port }, resolve);
  try {
    await promise;
  } catch (error) {
    socket.close();
    throw listenError(codeOf(error), { address, port });
  }
  socket.removeAllListeners('error');
}

/** Rejects if any socket uses the port, shared or not. */
export async function checkUnused({
  address,
  port,
}: {
  readonly address: string;
  readonly port: number;
}): Promise<void> {
  const isInet6 = isIPv6(address);
  const socket = createSocket({ type: isInet6 ? 'udp6' : 'udp4', ipv6Only: isInet6 });
  await bind(socket, address, port);
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.close(resolve);
  await promise;
}

/** The error code, or the message of an error without one. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error);
