import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { systemClock } from '../../client/clock.ts';
import { setInterval } from '../../machine/timers.ts';
import type { Listener, WorkerContext } from './responder.ts';
import { listenError } from './native.ts';
import { makeOutBuffer, TcpConnection } from './tcp-connection.ts';
import { codeOf } from './udp-dgram.ts';

export interface TcpLimits {
  /** Open connections; 1024 by default. Above that the connection idle longest is closed. */
  readonly maxConnections?: number;
  /** Open connections of one address; 64 by default. */
  readonly maxConnectionsPerClient?: number;
  /** Outstanding slow-path queries of one connection; 64 by default. */
  readonly maxOutstanding?: number;
  /** How long a connection may be without a complete query, or with unread replies; 10 s by default. */
  readonly idleMs?: number;
}

export interface TcpOptions {
  readonly address: string;
  readonly port: number;
  readonly reusePort: boolean;
  readonly context: WorkerContext;
  readonly limits?: TcpLimits;
}

/** Checks for idle connections per idle timeout. */
const sweepsPerIdle = 4;
/** How long clients may read their last replies. */
const lingerMs = 500;

/** Answers queries over TCP (RFC 7766). */
export class TcpListener implements Listener {
  readonly #server: Server;
  readonly #context: WorkerContext;
  readonly #maxConnections: number;
  readonly #maxPerClient: number;
  readonly #maxOutstanding: number;
  readonly #idleMs: number;
  readonly #out = makeOutBuffer();
  /** In the order of acceptance. */
  readonly #connections = new Set<TcpConnection>();
  /** Address → its connections. */
  readonly #clients = new Map<string, number>();
  readonly #sweep: NodeJS.Timeout;

  private constructor({ context, limits = {} }: TcpOptions) {
    this.#context = context;
    this.#maxConnections = limits.maxConnections ?? 1024;
    this.#maxPerClient = limits.maxConnectionsPerClient ?? 64;
    this.#maxOutstanding = limits.maxOutstanding ?? 64;
    this.#idleMs = limits.idleMs ?? 10_000;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket));
    this.#sweep = setInterval(() => this.#closeIdle(), this.#idleMs / sweepsPerIdle);
    this.#sweep.unref();
  }

  static async open(options: TcpOptions): Promise<TcpListener> {
    const { address, port, reusePort } = options;
    const listener = new TcpListener(options);
    const server = listener.#server;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once('error', reject);
    // Without `ipv6Only` Node compiles a regular expression for addresses, which takes tens of milliseconds per thread.
    server.listen({ host: address, port, reusePort, ipv6Only: address.includes(':'), backlog: 512 }, resolve);
    try {
      await promise;
    } catch (error) {
      clearInterval(listener.#sweep);
      throw listenError(codeOf(error), { address, port });
    }
    server.removeAllListeners('error');
    // Accepting may fail if descriptors run out.
    server.on('error', () => listener.#context.responder.counters.count('refusedConnections'));
    return listener;
  }

  get port(): number {
    // A cast: a server that listens on an address has one.
    return (this.#server.address() as AddressInfo).port;
  }

  async drain(): Promise<void> {
    this.#server.close();
    for (const connection of this.#connections) connection.end();
    const deadline = performance.now() + lingerMs;
    while (this.#connections.size > 0 && performance.now() < deadline) await delay(5);
  }

  close(): void {
    clearInterval(this.#sweep);
    this.#server.close();
    for (const connection of this.#connections) connection.destroy();
  }

  #accept(socket: Socket): void {
    const { counters } = this.#context.responder;
    const address = socket.remoteAddress ?? '';
    const ofClient = this.#clients.get(address) ?? 0;
    const isRefused = address === '' || ofClient >= this.#maxPerClient || !this.#makeRoom();
    if (isRefused) {
      counters.count('refusedConnections');
      socket.destroy();
      return;
    }
    this.#clients.set(address, ofClient + 1);
    const options = { context: this.#context, out: this.#out, maxOutstanding: this.#maxOutstanding };
    const connection = new TcpConnection(socket, options);
    this.#connections.add(connection);
    counters.count('accepted');
    counters.count('connections');
    // Many clients end connections with a reset.
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#remove(connection));
  }

  #remove(connection: TcpConnection): void {
    this.#connections.delete(connection);
    this.#context.responder.counters.count('connections', -1);
    const left = (this.#clients.get(connection.address) ?? 1) - 1;
    if (left === 0) this.#clients.delete(connection.address);
    else this.#clients.set(connection.address, left);
  }

  /** Whether another connection is possible, closing an idle one if necessary (RFC 7766 §6.2.3). */
  #makeRoom(): boolean {
    if (this.#connections.size < this.#maxConnections) return true;
    let idlest: TcpConnection | undefined;
    for (const connection of this.#connections) {
      if (connection.isIdle && connection.lastActiveMs < (idlest?.lastActiveMs ?? Infinity)) idlest = connection;
    }
    if (idlest === undefined) return false;
    idlest.destroy();
    // Its `close` event comes too late for this check.
    this.#connections.delete(idlest);
    return true;
  }

  /** Closes connections without a complete query or with unread replies. */
  #closeIdle(): void {
    const oldest = performance.now() - this.#idleMs;
    // Data that arrived while this process was paused is not read yet.
    if (systemClock.resumedAt() > oldest) return;
    for (const connection of this.#connections) {
      if (connection.lastActiveMs >= oldest || connection.isWaiting) continue;
      connection.destroy();
    }
  }
}
