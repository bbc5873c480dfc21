import { Semaphore } from '../machine/semaphore.ts';
import type { Deadline } from './deadline.ts';
import { ConnectionLostError } from './errors.ts';
import { HttpConnection } from './http-connection.ts';
import type { OpenSocket } from './http-socket.ts';

/**
 * The connections to one server. Requests share a limited number of them, because a handshake costs as much as ten
 * requests; further requests wait in order. Every stream has an additional connection of its own.
 */
export class HttpPool {
  readonly #open: OpenSocket;
  readonly #maxConnections: number;
  readonly #requests: Semaphore;
  /** A stack: the connection used last is used next. */
  readonly #idle: HttpConnection[] = [];
  /** Connections with a request or a stream. */
  readonly #busy = new Set<HttpConnection>();
  #isRetired = false;
  #isClosed = false;

  constructor(open: OpenSocket, maxConnections: number) {
    this.#open = open;
    this.#maxConnections = maxConnections;
    this.#requests = new Semaphore(maxConnections);
  }

  /** Resolves when a request may use a connection; the caller must call `release` afterwards. */
  async acquire(deadline: Deadline): Promise<void> {
    await this.#requests.acquire((cancel) => deadline.onEnd(cancel));
  }

  /** Allows the next request. */
  release(): void {
    this.#requests.release();
  }

  /** Returns an idle or new connection. */
  async connection(deadline: Deadline): Promise<HttpConnection> {
    if (this.#isClosed) throw closed();
    const now = performance.now();
    for (let known = this.#idle.pop(); known !== undefined; known = this.#idle.pop()) {
      if (known.isUsable(now)) {
        this.#busy.add(known);
        return known;
      }
      known.drop(undefined);
    }
    const socket = await this.#open(deadline);
    if (this.#isClosed) {
      socket.destroy();
      throw closed();
    }
    const connection = new HttpConnection(socket, (freed) => this.#free(freed));
    this.#busy.add(connection);
    socket.once('close', () => this.#remove(connection));
    return connection;
  }

  /** Closes idle connections now and busy ones when their request ends. */
  retire(): void {
    this.#isRetired = true;
    for (const connection of this.#idle.splice(0)) connection.drop(undefined);
  }

  /** Closes all connections. */
  close(): void {
    this.#isClosed = true;
    this.retire();
    for (const connection of this.#busy) connection.drop(closed());
  }

  #free(connection: HttpConnection): void {
    this.#busy.delete(connection);
    if (this.#isRetired || this.#idle.length >= this.#maxConnections) connection.drop(undefined);
    else this.#idle.push(connection);
  }

  #remove(connection: HttpConnection): void {
    this.#busy.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
  }
}

const closed = (): Error => new ConnectionLostError('the connection to the server was closed');
