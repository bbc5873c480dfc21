import type { Socket } from 'node:net';
import { ConnectionLostError } from './errors.ts';
import type { ResponseHead, ResponseSink } from './http-response.ts';
import { ResponseReader } from './http-response.ts';

/** Who waits for an answer. It ends with `end` or `failed`, once. */
export interface Exchange extends Pick<ResponseSink, 'head' | 'body'> {
  end(): void;
  /** `isUnanswered`: nothing of an answer arrived, on a connection that had been left idle. */
  failed(error: unknown, isUnanswered: boolean): void;
}

/**
 * One connection that carries one request at a time. A connection of Node's own clients costs three times the CPU:
 * 350 µs a request against 120, most of it for streams and events that nobody needs here.
 */
export class HttpConnection {
  readonly #socket: Socket;
  /** Called when a request is over and the connection can carry another. */
  readonly #freed: (connection: HttpConnection) => void;
  #exchange: Exchange | undefined;
  #reader: ResponseReader | undefined;
  #isUsed = false;
  #hasAnswered = false;
  /** How long the server leaves it open while it is idle. */
  #keptMs = Number.POSITIVE_INFINITY;
  #idleUntilMs = Number.POSITIVE_INFINITY;
  #error: Error | undefined;

  constructor(socket: Socket, freed: (connection: HttpConnection) => void) {
    this.#socket = socket;
    this.#freed = freed;
    socket.setNoDelay(true);
    // A machine that vanished says nothing: the kernel asks after it.
    socket.setKeepAlive(true, 30_000);
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
    socket.on('end', () => this.#closedByServer());
    socket.on('error', (error) => (this.#error = error));
    socket.on('close', () => this.#fail(this.#error ?? new ConnectionLostError('the connection was closed')));
  }

  /** Whether it can carry a request: it is open, and the server does not close it any moment. */
  isUsable(nowMs: number): boolean {
    return !this.#socket.destroyed && this.#socket.writable && nowMs < this.#idleUntilMs;
  }

  /** Sends a request, and gives what comes of it to `exchange`. */
  send(request: string, exchange: Exchange): void {
    this.#exchange = exchange;
    this.#hasAnswered = false;
    this.#reader = new ResponseReader(this.#sink);
    this.#socket.ref();
    this.#socket.write(request);
  }

  /** Holds back what the server sends, and lets it through again. */
  hold(isHeld: boolean): void {
    if (isHeld) this.#socket.pause();
    else this.#socket.resume();
  }

  /** Drops the connection, and with it what is under way: that fails with `reason`. */
  drop(reason: unknown): void {
    this.#fail(reason);
    this.#socket.destroy();
  }

  readonly #sink: ResponseSink = {
    head: (head) => {
      this.#keptMs = keptMs(head);
      this.#exchange?.head(head);
    },
    body: (bytes, from, to) => this.#exchange?.body(bytes, from, to),
    end: (isReusable) => this.#over(isReusable),
  };

  #take(bytes: Buffer): void {
    this.#hasAnswered = true;
    try {
      if (this.#reader === undefined) throw new Error('the server sends a response without a request');
      this.#reader.push(bytes);
    } catch (error) {
      this.drop(error);
    }
  }

  #over(isReusable: boolean): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#reader = undefined;
    this.#isUsed = true;
    if (isReusable) {
      this.#idleUntilMs = performance.now() + this.#keptMs;
      // A connection that nobody uses does not keep the process alive.
      this.#socket.unref();
      this.#freed(this);
    } else this.#socket.destroy();
    exchange?.end();
  }

  #closedByServer(): void {
    try {
      this.#reader?.close();
    } catch (error) {
      this.#fail(error);
    }
    this.#socket.destroy();
  }

  #fail(error: unknown): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#reader = undefined;
    exchange?.failed(error, this.#isUsed && !this.#hasAnswered);
  }
}

/** How long the server keeps a connection that is idle, as far as it says; a second less, for what is on its way. */
function keptMs({ headers }: ResponseHead): number {
  const seconds = /timeout=(\d+)/i.exec(headers['keep-alive'] ?? '')?.[1];
  return seconds === undefined ? Number.POSITIVE_INFINITY : Math.max(0, Number(seconds) * 1000 - 1000);
}
