import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { systemClock } from '../../client/clock.ts';
import { setInterval } from '../../machine/timers.ts';
import type { Listener, WorkerContext } from './listener.ts';
import { listenError } from './native.ts';
import { makeOutBuffer, TcpConnection } from './tcp-connection.ts';
import { codeOf } from './udp-dgram.ts';

export interface TcpLimits {
  /** Connections at once; 1024 by default. Above that the one that has been idle longest is closed. */
  readonly maxConnections?: number;
  /** Connections of one address; 64 by default. */
  readonly maxConnectionsPerClient?: number;
  /** Questions of one connection that may wait for the slow path; 64 by default. */
  readonly maxOutstanding?: number;
  /** How long a connection may be without a whole query, or with replies that are not read; 10 s by default. */
  readonly idleMs?: number;
}

export interface TcpOptions {
  readonly address: string;
  readonly port: number;
  readonly reusePort: boolean;
  readonly context: WorkerContext;
  readonly limits?: TcpLimits;
}

/** How often idle connections are looked for, as a part of how long they may be. */
const sweepsPerIdle = 4;
/** How long clients get to read their last replies. */
const farewellMs = 500;

/** Answers queries over TCP (RFC 7766). */
export class TcpListener implements Listener {
  readonly #server: Server;
  readonly #context: WorkerContext;
  readonly #maxConnections: number;
  readonly #maxPerClient: number;
  readonly #maxOutstanding: number;
  readonly #idleMs: number;
  readonly #out = makeOutBuffer();
  /** In the order in which they were accepted. */
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
    // Node's own test for IPv6 is a pattern that takes a thread tens of milliseconds to compile.
    server.listen({ host: address, port, reusePort, ipv6Only: address.includes(':'), backlog: 512 }, resolve);
    try {
      await promise;
    } catch (error) {
      clearInterval(listener.#sweep);
      throw listenError(codeOf(error), { address, port });
    }
    server.removeAllListeners('error');
    // Accepting can fail when descriptors run out; the next attempt may not.
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
    const deadline = performance.now() + farewellMs;
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
    const mine = this.#clients.get(address) ?? 0;
    const isRefused = address === '' || mine >= this.#maxPerClient || !this.#makeRoom();
    if (isRefused) {
      counters.count('refusedConnections');
      socket.destroy();
      return;
    }
    this.#clients.set(address, mine + 1);
    const options = { context: this.#context, out: this.#out, maxOutstanding: this.#maxOutstanding };
    const connection = new TcpConnection(socket, options);
    this.#connections.add(connection);
    counters.count('accepted');
    counters.count('connections');
    // A reset is how many clients say goodbye.
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#forget(connection));
  }

  #forget(connection: TcpConnection): void {
    this.#connections.delete(connection);
    this.#context.responder.counters.count('connections', -1);
    const left = (this.#clients.get(connection.address) ?? 1) - 1;
    if (left === 0) this.#clients.delete(connection.address);
    else this.#clients.set(connection.address, left);
  }

  /** Whether there is room for one more, which there is if one has nothing to do (RFC 7766 §6.2.3). */
  #makeRoom(): boolean {
    if (this.#connections.size < this.#maxConnections) return true;
    let idlest: TcpConnection | undefined;
    for (const connection of this.#connections) {
      if (connection.isIdle && connection.lastActiveMs < (idlest?.lastActiveMs ?? Infinity)) idlest = connection;
    }
    if (idlest === undefined) return false;
    idlest.destroy();
    // It leaves the set only when its socket has closed, which is soon enough for the others but not for this count.
    this.#connections.delete(idlest);
    return true;
  }

  /** Closes who says nothing, sends a query without an end, or does not read what it asked for. */
  #closeIdle(): void {
    const oldest = performance.now() - this.#idleMs;
    // What clients sent while this process was paused has not been read yet.
    if (systemClock.resumedAt() > oldest) return;
    for (const connection of this.#connections) {
      if (connection.lastActiveMs >= oldest || connection.isWaiting) continue;
      connection.destroy();
    }
  }
}
