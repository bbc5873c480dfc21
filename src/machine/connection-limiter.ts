import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Limits the connections of servers with small requests, such as probes. A new connection beyond the limit closes the one
 * that has been idle for longest, so that idle connections never block a probe.
 */
export class ConnectionLimiter {
  readonly #max: number;
  readonly #sockets = new Set<Socket>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Adds a server; all servers share the limit. */
  add(server: Server): void {
    const sockets = this.#sockets;
    server.on('connection', (socket) => {
      const [oldest] = sockets;
      if (sockets.size >= this.#max && oldest !== undefined) {
        oldest.destroy();
        sockets.delete(oldest); // its close event comes later
      }
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    server.on('request', ({ socket }) => {
      if (sockets.delete(socket)) sockets.add(socket);
    });
  }
}
