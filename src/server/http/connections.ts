import type { Http2SecureServer, ServerHttp2Session } from 'node:http2';
import type { Server as NetServer, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

import { setInterval, setTimeout } from '../../machine/timers.ts';
import { openAcceptors } from './acceptors.ts';

/** From this many connections on, more than one is accepted in a turn of the event loop. */
const manyConnections = 64;

/** What connections may take. */
export interface ConnectionLimits {
  /** Connections open at once, in all and from one address. New ones replace those that do not finish their handshake. */
  readonly max: number;
  readonly maxPerAddress: number;
  /** A client that takes nothing of what is sent for this long is cut off. */
  readonly stallMs: number;
  /** An HTTP/2 connection without requests is closed after this long; HTTP/1 has its own timeout. */
  readonly idleMs: number;
  /** How often to check both. */
  readonly sweepMs: number;
}

export const defaultConnectionLimits: ConnectionLimits = {
  max: 10_000,
  maxPerAddress: 2000,
  stallMs: 60_000,
  idleMs: 180_000,
  sweepMs: 5000,
};

/** When a socket was last seen to take something. */
interface Progress {
  sent: number;
  since: number;
}

/** The connections of an address. */
interface OfAddress {
  count: number;
  /** Address and port of those that have not finished their handshake, the oldest first. */
  readonly handshaking: Set<string>;
}

/** The open connections of a server: bounds how many there are, and closes those that idle or do not read. */
export class Connections {
  readonly #server: Http2SecureServer;
  readonly #limits: ConnectionLimits;
  /** address → its connections */
  readonly #byAddress = new Map<string, OfAddress>();
  readonly #sockets = new Map<TLSSocket, Progress>();
  /** The sockets under all connections, also those that never speak TLS. */
  readonly #accepted = new Set<Socket>();
  /** Address and port → a connection that has not finished its handshake, the oldest first: anybody can open one. */
  readonly #handshaking = new Map<string, Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #timer: NodeJS.Timeout;
  #sweptAt = performance.now();
  #acceptors: readonly NetServer[] | undefined;
  #refused = 0;

  constructor(server: Http2SecureServer, limits: ConnectionLimits = defaultConnectionLimits) {
    this.#server = server;
    this.#limits = limits;
    server.on('connection', (socket: Socket) => this.#count(socket));
    server.on('secureConnection', (socket) => {
      this.#greeted(peerOf(socket), socket.remoteAddress ?? '');
      this.#sockets.set(socket, { sent: 0, since: performance.now() });
      socket.on('error', () => undefined); // a reset connection is the client's affair
      socket.on('close', () => this.#sockets.delete(socket));
    });
    server.on('session', (session) => this.#track(session));
    this.#timer = setInterval(() => this.#cutStalled(performance.now()), limits.sweepMs).unref();
  }

  /** Connections refused or closed because there were too many. */
  get refused(): number {
    return this.#refused;
  }

  /** Stops accepting, lets requests finish, and cuts what remains after the grace period. */
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

  /** Before the handshake, which is the expensive part of a connection. */
  #count(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    const peer = peerOf(socket);
    const own = this.#byAddress.get(address) ?? { count: 0, handshaking: new Set() };
    const { max, maxPerAddress } = this.#limits;
    const hasRoom =
      (own.count < maxPerAddress || this.#giveWay(own.handshaking)) &&
      (this.#accepted.size < max || this.#giveWay(this.#handshaking.keys()));
    if (!hasRoom) {
      this.#refused++;
      socket.destroy();
      return;
    }
    own.count++;
    own.handshaking.add(peer);
    this.#byAddress.set(address, own);
    this.#accepted.add(socket);
    this.#handshaking.set(peer, socket);
    if (this.#accepted.size >= manyConnections && this.#acceptors === undefined) void this.#acceptFaster();
    socket.on('close', () => {
      this.#accepted.delete(socket);
      if (this.#handshaking.get(peer) === socket) this.#greeted(peer, address);
      own.count--;
      if (own.count === 0 && this.#byAddress.get(address) === own) this.#byAddress.delete(address);
    });
  }

  #greeted(peer: string, address: string): void {
    this.#handshaking.delete(peer);
    this.#byAddress.get(address)?.handshaking.delete(peer);
  }

  /** Closes the oldest of these connections that have not finished their handshake; false if there is none. */
  #giveWay(peers: Iterable<string>): boolean {
    for (const peer of peers) {
      const socket = this.#handshaking.get(peer);
      if (socket === undefined) continue;
      this.#greeted(peer, socket.remoteAddress ?? '');
      this.#accepted.delete(socket); // it counts no longer, though closing it takes a turn of the event loop
      socket.destroy();
      this.#refused++;
      return true;
    }
    return false;
  }

  async #acceptFaster(): Promise<void> {
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
    // Fires when nothing was sent or received for so long. Frames that wait are for a client that reads nothing.
    session.setTimeout(this.#limits.idleMs, () => {
      if (open === 0) session.close();
      else if ((session.state.outboundQueueSize ?? 0) > 0) session.destroy();
    });
  }

  #cutStalled(now: number): void {
    // While this process was paused nothing could be sent: no client is to blame for it.
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

/** What a socket and the TLS connection over it have in common. */
const peerOf = ({ remoteAddress = '', remotePort = 0 }: Socket): string => `${remoteAddress} ${remotePort}`;
