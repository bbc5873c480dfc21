import type { Dispatcher } from 'undici';
// Its index also loads fetch and WebSockets, which doubles the CPU of the import.
import Client from 'undici/lib/dispatcher/client.js';

import { ConnectionLostError } from './errors.ts';
import type { Connect } from './http-socket.ts';

/** The path, headers and body of a request. */
export type HttpRequest = Pick<Dispatcher.DispatchOptions, 'method' | 'path' | 'headers' | 'body'>;

/** Status and headers of a response. */
export interface ResponseHead {
  readonly status: number;
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Receives the response to one request. Ends with exactly one call of `end` or `failed`. */
export interface Exchange {
  head(head: ResponseHead): void;
  /** A piece of the body, which the receiver may retain. */
  body(bytes: Buffer): void;
  end(): void;
  /** `isStaleConnection`: a connection that had been idle closed before the response. */
  failed(error: unknown, isStaleConnection: boolean): void;
}

/** The limit of headers and of trailers. */
const maxHeaderBytes = 64 << 10;
/** Informational responses (1xx) before the final one. */
const maxInformational = 10;
/** How long an idle connection is kept, unless the server announces a shorter time. */
const keepAliveMs = 100_000;

/** A connection that carries one request at a time. Deadlines are the caller's. */
export class HttpConnection {
  readonly #client: Client;
  /** Called when the connection can carry the next request. */
  readonly #freed: (connection: HttpConnection) => void;
  /** Called when the connection will carry no other request. */
  readonly #closed: (connection: HttpConnection) => void;
  #exchange: Exchange | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  /** Whether the current socket has carried a response. */
  #isUsed = false;
  #hasAnswered = false;
  #informational = 0;

  constructor(
    origin: string,
    connect: Connect,
    on: { readonly freed: (connection: HttpConnection) => void; readonly closed: (connection: HttpConnection) => void },
  ) {
    this.#freed = on.freed;
    this.#closed = on.closed;
    this.#client = new Client(origin, {
      connect,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: keepAliveMs,
      maxHeaderSize: maxHeaderBytes,
    });
    this.#client.on('disconnect', () => {
      this.#isUsed = false;
      if (this.#exchange === undefined) this.drop(undefined);
    });
  }

  send(request: HttpRequest, exchange: Exchange): void {
    this.#exchange = exchange;
    this.#hasAnswered = false;
    this.#informational = 0;
    // Without `reset: false`, undici closes the connection after every DELETE with a body, such as DeleteOptions.
    this.#client.dispatch({ ...request, reset: false } as Dispatcher.DispatchOptions, this.#handler);
  }

  /** Pauses or resumes reading. */
  setPaused(isPaused: boolean): void {
    if (isPaused) this.#controller?.pause();
    else this.#controller?.resume();
  }

  /** Closes the connection; a request in progress fails with `reason`. */
  drop(reason: unknown): void {
    this.#fail(reason);
    this.#closed(this);
    this.#client.destroy(null, () => undefined);
  }

  // An error thrown here aborts the request and arrives in onResponseError.
  readonly #handler: Dispatcher.DispatchHandler = {
    onRequestStart: (controller) => (this.#controller = controller),
    onResponseStart: (_, status, headers) => {
      this.#hasAnswered = true;
      if (status < 200) return this.#countInformational();
      const encoding = headers['content-encoding'] ?? 'identity';
      if (encoding !== 'identity')
        throw new Error(`the server sends Content-Encoding ${JSON.stringify(encoding)}, which was not requested`);
      this.#exchange?.head({ status, headers });
    },
    onResponseData: (_, bytes) => this.#exchange?.body(bytes),
    onResponseEnd: () => {
      const exchange = this.#exchange;
      this.#exchange = undefined;
      this.#controller = undefined;
      this.#isUsed = true;
      this.#freed(this);
      exchange?.end();
    },
    onResponseError: (_, error) => {
      if (this.#exchange !== undefined) this.drop(explained(error));
    },
  };

  #countInformational(): void {
    if (++this.#informational > maxInformational)
      throw new Error(`the server sends more than ${maxInformational} informational responses`);
  }

  #fail(error: unknown): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#controller = undefined;
    exchange?.failed(error, this.#isUsed && !this.#hasAnswered);
  }
}

/** States errors of the HTTP library in terms of the server. */
function explained(error: Error): Error {
  const code = 'code' in error ? String(error.code) : '';
  if (error.name === 'HTTPParserError')
    return new Error(`not an HTTP/1.1 response: ${error.message}`, { cause: error });
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return new Error(`the server sends more than ${maxHeaderBytes} bytes of headers`, { cause: error });
  if (code === 'UND_ERR_SOCKET' || code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') {
    return new ConnectionLostError('the server closed the connection before the response was complete', {
      cause: error,
    });
  }
  return error;
}
