import { Semaphore } from '../machine/semaphore.ts';
import type { Deadline } from './deadline.ts';
import { ConnectionLostError } from './errors.ts';
import { HttpConnection } from './http-connection.ts';
import type { OpenSocket } from './http-socket.ts';

/**
 * The connections to one server. Requests share at most `most` of them, and wait their turn where there are more:
 * a handshake costs as much as ten requests. Streams have one each beside these.
 */
export class HttpPool {
  readonly #open: OpenSocket;
  readonly #maxConnections: number;
  readonly #requests: Semaphore;
  /** Those that carry nothing; the one that was used last is used next. */
  readonly #idle: HttpConnection[] = [];
  /** All that are open and carry something. */
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
    await this.#requests.acquire((cancel) => deadline.guard(cancel));
  }

  /** Allows the next request. */
  release(): void {
    this.#requests.release();
  }

  /** A connection that carries nothing. */
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
    socket.once('close', () => this.#forget(connection));
    return connection;
  }

  /** Keeps nothing open any more; what is under way may finish. */
  retire(): void {
    this.#isRetired = true;
    for (const connection of this.#idle.splice(0)) connection.drop(undefined);
  }

  /** Drops everything. */
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

  #forget(connection: HttpConnection): void {
    this.#busy.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
  }
}

const closed = (): Error => new ConnectionLostError('the connection to the server was closed');
