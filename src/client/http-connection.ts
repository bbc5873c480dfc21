import type { Socket } from 'node:net';
import { ConnectionLostError } from './errors.ts';
import type { ResponseHead, ResponseSink } from './http-response.ts';
import { ResponseReader } from './http-response.ts';

/** Receives the response to one request. Ends with exactly one call of `end` or `failed`. */
export interface Exchange extends Pick<ResponseSink, 'head' | 'body'> {
  end(): void;
  /** `isStaleConnection`: a connection that had been idle closed before any byte of the response. */
  failed(error: unknown, isStaleConnection: boolean): void;
}

/**
 * A connection that carries one request at a time. The clients of Node take three times the CPU, 350 µs instead of 120 µs
 * per request, mostly for streams and events that are not needed here.
 */
export class HttpConnection {
  readonly #socket: Socket;
  /** Called when the connection can carry the next request. */
  readonly #freed: (connection: HttpConnection) => void;
  #exchange: Exchange | undefined;
  #reader: ResponseReader | undefined;
  #isUsed = false;
  #hasAnswered = false;
  /** How long the server keeps an idle connection open. */
  #keepAliveMs = Number.POSITIVE_INFINITY;
  #idleUntilMs = Number.POSITIVE_INFINITY;
  #error: Error | undefined;

  constructor(socket: Socket, freed: (connection: HttpConnection) => void) {
    this.#socket = socket;
    this.#freed = freed;
    socket.setNoDelay(true);
    // Detects a peer that disappeared without closing the connection.
    socket.setKeepAlive(true, 30_000);
    socket.on('data', (bytes: Buffer) => this.#receive(bytes));
    socket.on('end', () => this.#closedByServer());
    socket.on('error', (error) => (this.#error = error));
    socket.on('close', () => this.#fail(this.#error ?? new ConnectionLostError('the connection was closed')));
  }

  /** Whether it is open and the keep-alive time of the server has not passed. */
  isUsable(nowMs: number): boolean {
    return !this.#socket.destroyed && this.#socket.writable && nowMs < this.#idleUntilMs;
  }

  send(request: string, exchange: Exchange): void {
    this.#exchange = exchange;
    this.#hasAnswered = false;
    this.#reader = new ResponseReader(this.#sink);
    this.#socket.ref();
    this.#socket.write(request);
  }

  /** Pauses or resumes reading. */
  setPaused(isPaused: boolean): void {
    if (isPaused) this.#socket.pause();
    else this.#socket.resume();
  }

  /** Closes the connection; a request in progress fails with `reason`. */
  drop(reason: unknown): void {
    this.#fail(reason);
    this.#socket.destroy();
  }

  readonly #sink: ResponseSink = {
    head: (head) => {
      this.#keepAliveMs = keepAliveMs(head);
      this.#exchange?.head(head);
    },
    body: (bytes, from, to) => this.#exchange?.body(bytes, from, to),
    end: (isReusable) => this.#finish(isReusable),
  };

  #receive(bytes: Buffer): void {
    this.#hasAnswered = true;
    try {
      if (this.#reader === undefined) throw new Error('the server sends a response without a request');
      this.#reader.push(bytes);
    } catch (error) {
      this.drop(error);
    }
  }

  #finish(isReusable: boolean): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#reader = undefined;
    this.#isUsed = true;
    if (isReusable) {
      this.#idleUntilMs = performance.now() + this.#keepAliveMs;
      // An idle connection does not keep the process running.
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

/** The idle time from the Keep-Alive header, minus one second for the latency of the network. */
function keepAliveMs({ headers }: ResponseHead): number {
  const seconds = /timeout=(\d+)/i.exec(headers['keep-alive'] ?? '')?.[1];
  return seconds === undefined ? Number.POSITIVE_INFINITY : Math.max(0, Number(seconds) * 1000 - 1000);
}
