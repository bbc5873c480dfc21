import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Bounds the connections of servers that answer small requests, such as probes. For a new connection the one that has been
 * without a request for longest is closed, so that idle ones never keep a probe out.
 */
export class ConnectionBound {
  readonly #most: number;
  readonly #sockets = new Set<Socket>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Counts the connections of this server among the others. */
  add(server: Server): void {
    const sockets = this.#sockets;
    server.on('connection', (socket) => {
      const [oldest] = sockets;
      if (sockets.size >= this.#most && oldest !== undefined) {
        oldest.destroy();
        sockets.delete(oldest); // its end takes a turn of the event loop
      }
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    server.on('request', ({ socket }) => {
      if (sockets.delete(socket)) sockets.add(socket);
    });
  }
}
