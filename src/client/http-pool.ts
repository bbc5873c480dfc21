import { Semaphore } from '../machine/semaphore.ts';
import type { Deadline } from './deadline.ts';
import { ConnectionLostError } from './errors.ts';
import { HttpConnection } from './http-connection.ts';
import type { Connect } from './http-socket.ts';

/**
 * The connections to one server. Requests share a limited number of them, because a handshake costs as much as ten
 * requests; further requests wait in order. Every stream has an additional connection of its own.
 */
export class HttpPool {
  readonly #origin: string;
  readonly #connect: Connect;
  readonly #maxConnections: number;
  readonly #requests: Semaphore;
  /** A stack: the connection used last is used next. */
  readonly #idle: HttpConnection[] = [];
  /** Connections with a request or a stream. */
  readonly #busy = new Set<HttpConnection>();
  #isRetired = false;
  #isClosed = false;

  constructor(origin: string, connect: Connect, maxConnections: number) {
    this.#origin = origin;
    this.#connect = connect;
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
  connection(): HttpConnection {
    if (this.#isClosed) throw closed();
    const connection =
      this.#idle.pop() ??
      new HttpConnection(this.#origin, this.#connect, {
        freed: (each) => this.#free(each),
        closed: (each) => this.#remove(each),
      });
    this.#busy.add(connection);
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
