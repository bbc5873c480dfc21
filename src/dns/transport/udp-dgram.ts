import type { RemoteInfo, Socket } from 'node:dgram';
import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { clientAddressBytes } from '../../dnswire/address.ts';
import { ask, maxUdpReplyBytes } from './answerer.ts';
import { clientOf } from './slow-path-client.ts';
import type { Listener, WorkerContext } from './listener.ts';
import { listenError } from './native.ts';
import type { ClientAddresses } from './responder.ts';

/** Bursts wait here while a query is answered. */
const receiveBufferBytes = 4 * 1024 * 1024;
/** How long a socket stays open after the last query, for what is on its way. */
const quietMs = 20;

export interface DgramOptions {
  readonly address: string;
  readonly port: number;
  /** Other sockets have the port too. */
  readonly reusePort: boolean;
  readonly context: WorkerContext;
}

/** Answers datagrams with nothing but Node, one at a time; for systems where batches cannot be had. */
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
    // A send that fails has lost one reply, which is what datagrams do.
    socket.on('error', () => this.#context.responder.counters.count('unsent'));
  }

  static async open({ address, port, reusePort, context }: DgramOptions): Promise<UdpDgramListener> {
    const isInet6 = isIPv6(address);
    const socket = createSocket({
      type: isInet6 ? 'udp6' : 'udp4',
      ipv6Only: isInet6,
      recvBufferSize: receiveBufferBytes,
      reusePort,
      // Addresses to send to are never names; asking the resolver about each would cost a turn of the loop.
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
    if (made === ask) {
      const { address, port } = from;
      const client = { protocol: 'udp', address: clientAddressBytes(address), port } as const;
      slowPath.send(query, client, (message) => {
        if (message !== undefined) this.#socket.send(message, port, address);
      });
      slowPath.flush();
      return;
    }
    if (made <= 0) return;
    const client = responder.limits ? clientOf(clientAddressBytes(from.address)) : 0;
    const length = responder.limit(client, started, out, 0, made);
    // A copy, since it may be sent after the next reply is made.
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

/** Rejects if anybody has a port, be it shared. */
export async function tryAlone({ address, port }: { readonly address: string; readonly port: number }): Promise<void> {
  const isInet6 = isIPv6(address);
  const socket = createSocket({ type: isInet6 ? 'udp6' : 'udp4', ipv6Only: isInet6 });
  await bind(socket, address, port);
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.close(resolve);
  await promise;
}

/** The system's name of an error, or its text. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error);
