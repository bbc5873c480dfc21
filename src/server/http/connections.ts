import type { Http2SecureServer, ServerHttp2Session } from 'node:http2';
import type { Server as NetServer, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

import { setInterval, setTimeout } from '../../machine/timers.ts';
import { openAcceptors } from './acceptors.ts';

/** From this many connections on, several are accepted per turn of the event loop. */
const manyConnections = 64;

/** Limits of the connections of a server. */
export interface ConnectionLimits {
  /** Open connections, in total and per address. New ones replace those that have not finished their handshake. */
  readonly max: number;
  readonly maxPerAddress: number;
  /** A client that reads nothing of what is sent for this long is disconnected. */
  readonly stallMs: number;
  /** An HTTP/2 connection without requests is closed after this long; HTTP/1 has its own timeout. */
  readonly idleMs: number;
  /** How often stalled clients are looked for. */
  readonly sweepMs: number;
}

export const defaultConnectionLimits: ConnectionLimits = {
  max: 10_000,
  maxPerAddress: 2000,
  stallMs: 60_000,
  idleMs: 180_000,
  sweepMs: 5000,
};

/** The bytes that a client had read when it last made progress. */
interface Progress {
  sent: number;
  since: number;
}

interface AddressConnections {
  count: number;
  /** Address and port of those that have not finished their handshake, oldest first. */
  readonly handshaking: Set<string>;
}

/** The open connections of a server: limits their number and closes idle and stalled ones. */
export class Connections {
  readonly #server: Http2SecureServer;
  readonly #limits: ConnectionLimits;
  readonly #byAddress = new Map<string, AddressConnections>();
  readonly #sockets = new Map<TLSSocket, Progress>();
  /** The TCP sockets of all connections, including those that never start TLS. */
  readonly #accepted = new Set<Socket>();
  /** address and port → a connection that has not finished its handshake, oldest first */
  readonly #handshaking = new Map<string, Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #timer: NodeJS.Timeout;
  #sweptAt = performance.now();
  #acceptors: readonly NetServer[] | undefined;

  constructor(server: Http2SecureServer, limits: ConnectionLimits = defaultConnectionLimits) {
    this.#server = server;
    this.#limits = limits;
    server.on('connection', (socket: Socket) => this.#accept(socket));
    server.on('secureConnection', (socket) => {
      this.#handshakeDone(peerOf(socket), socket.remoteAddress ?? '');
      this.#sockets.set(socket, { sent: 0, since: performance.now() });
      socket.on('error', () => undefined); // the client reset the connection
      socket.on('close', () => this.#sockets.delete(socket));
    });
    server.on('session', (session) => this.#track(session));
    this.#timer = setInterval(() => this.#closeStalled(performance.now()), limits.sweepMs).unref();
  }

  /** Stops accepting, lets requests finish, and destroys remaining connections after the grace period. */
  async close(graceMs: number): Promise<void> {
    clearInterval(this.#timer);
    const servers: readonly NetServer[] = [this.#server, ...(this.#acceptors ?? [])];
    const closed = Promise.all(servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
    for (const session of this.#sessions) session.close(); // GOAWAY; streams in flight may finish
    const idle = 'closeIdleConnections' in this.#server ? this.#server.closeIdleConnections : undefined;
    if (typeof idle === 'function') idle.call(this.#server);
    const timer = setTimeout(() => {
      for (const socket of this.#accepted) socket.destroy();
    }, graceMs);
    await closed;
    clearTimeout(timer);
  }

  /** Admits a connection before its handshake, which is the expensive part. */
  #accept(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    const peer = peerOf(socket);
    const ofAddress = this.#byAddress.get(address) ?? { count: 0, handshaking: new Set() };
    const { max, maxPerAddress } = this.#limits;
    const hasRoom =
      (ofAddress.count < maxPerAddress || this.#evictHandshake(ofAddress.handshaking)) &&
      (this.#accepted.size < max || this.#evictHandshake(this.#handshaking.keys()));
    if (!hasRoom) {
      socket.destroy();
      return;
    }
    ofAddress.count++;
    ofAddress.handshaking.add(peer);
    this.#byAddress.set(address, ofAddress);
    this.#accepted.add(socket);
    this.#handshaking.set(peer, socket);
    if (this.#accepted.size >= manyConnections && this.#acceptors === undefined) void this.#openAcceptors();
    socket.on('close', () => {
      this.#accepted.delete(socket);
      if (this.#handshaking.get(peer) === socket) this.#handshakeDone(peer, address);
      ofAddress.count--;
      if (ofAddress.count === 0 && this.#byAddress.get(address) === ofAddress) this.#byAddress.delete(address);
    });
  }

  /** Leaves the connection to its stream, whose bytes wait until the client reads; it still counts as open. */
  tolerateStalls(socket: Socket): void {
    this.#sockets.delete(socket as TLSSocket);
  }

  #handshakeDone(peer: string, address: string): void {
    this.#handshaking.delete(peer);
    this.#byAddress.get(address)?.handshaking.delete(peer);
  }

  /** Closes the oldest of the given connections that has not finished its handshake; false if there is none. */
  #evictHandshake(peers: Iterable<string>): boolean {
    for (const peer of peers) {
      const socket = this.#handshaking.get(peer);
      if (socket === undefined) continue;
      this.#handshakeDone(peer, socket.remoteAddress ?? '');
      this.#accepted.delete(socket); // at once: its close event comes a turn of the event loop later
      socket.destroy();
      return true;
    }
    return false;
  }

  async #openAcceptors(): Promise<void> {
    this.#acceptors = [];
    const acceptors = await openAcceptors(this.#server);
    for (const acceptor of acceptors) {
      acceptor.on('connection', (socket) => this.#server.emit('connection', socket));
      if (!this.#server.listening) acceptor.close(); // closed meanwhile
    }
    this.#acceptors = acceptors;
  }

  #track(session: ServerHttp2Session): void {
    let open = 0;
    this.#sessions.add(session);
    session.on('close', () => this.#sessions.delete(session));
    session.on('stream', (stream) => {
      open++;
      stream.once('close', () => open--);
    });
    // Fires when nothing was sent or received. Queued frames then belong to a client that does not read.
    session.setTimeout(this.#limits.idleMs, () => {
      if (open === 0) session.close();
      else if ((session.state.outboundQueueSize ?? 0) > 0) session.destroy();
    });
  }

  #closeStalled(now: number): void {
    // Nothing could be sent while this process was paused, so clients are not stalled.
    const wasPaused = now - this.#sweptAt > 2 * this.#limits.sweepMs;
    this.#sweptAt = now;
    for (const [socket, progress] of this.#sockets) {
      const sent = socket.bytesWritten - socket.writableLength;
      if (wasPaused || socket.writableLength === 0 || sent !== progress.sent) {
        progress.sent = sent;
        progress.since = now;
      } else if (now - progress.since > this.#limits.stallMs) socket.destroy();
    }
  }
}

/** Identifies both a TCP socket and the TLS socket over it. */
const peerOf = ({ remoteAddress = '', remotePort = 0 }: Socket): string => `${remoteAddress} ${remotePort}`;
