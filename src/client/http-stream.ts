import { StringDecoder } from 'node:string_decoder';
import type { Exchange, HttpConnection, ResponseHead } from './http-connection.ts';
import { limitExceeded } from './limits.ts';
import { LineSplitter } from './line-splitter.ts';

/** Unread characters at which reading pauses, so that TCP slows the server down. */
const highWater = 1 << 20;

/** The lines of a response that does not end by itself. A reader that stops early calls `drop`. */
export class LineStream {
  readonly #connection: HttpConnection;
  readonly #decoder = new StringDecoder('utf8');
  readonly #splitter = new LineSplitter();
  readonly #head = Promise.withResolvers<ResponseHead | undefined>();
  /** The body of a response that is not 200. */
  #errorBody: string | undefined;
  #lines: string[] = [];
  #unreadLength = 0;
  #isPaused = false;
  #end: { readonly error?: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(connection: HttpConnection) {
    this.#connection = connection;
  }

  /** The receiver of the response. */
  get exchange(): Exchange {
    return {
      head: (head) => {
        if (head.status !== 200) this.#errorBody = '';
        this.#head.resolve(head);
      },
      body: (bytes) => this.#receive(this.#decoder.write(bytes)),
      end: () => this.#finish({}),
      failed: (error, isStaleConnection) => {
        if (isStaleConnection) this.#head.resolve(undefined);
        else this.#head.reject(error);
        this.#finish({ error });
      },
    };
  }

  /** The head of the response; undefined if the connection was stale. */
  head(): Promise<ResponseHead | undefined> {
    return this.#head.promise;
  }

  /** The body of an error response. */
  async errorBody(): Promise<string> {
    while (this.#end === undefined) await this.#waitForData();
    if ('error' in this.#end) throw this.#end.error;
    return this.#errorBody ?? '';
  }

  /** The lines received since the last call, at least one; undefined at the end. Rejects if the connection fails. */
  async next(): Promise<readonly string[] | undefined> {
    while (this.#lines.length === 0) {
      if (this.#end !== undefined) {
        if ('error' in this.#end) throw this.#end.error;
        return undefined;
      }
      // Resuming may deliver data at once.
      const data = this.#waitForData();
      this.#setPaused(false);
      await data;
    }
    const lines = this.#lines;
    this.#lines = [];
    this.#unreadLength = 0;
    return lines;
  }

  /** Closes the connection, unless the response is complete: the connection may carry another request by then. */
  drop(reason: unknown): void {
    if (this.#end === undefined) this.#connection.drop(reason);
  }

  #waitForData(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  #receive(text: string): void {
    if (this.#errorBody !== undefined) {
      this.#errorBody += text;
      if (this.#errorBody.length > highWater) throw limitExceeded('characters in an error response', highWater);
      return;
    }
    for (const line of this.#splitter.push(text)) this.#lines.push(line);
    this.#unreadLength += text.length;
    // Keep reading until at least one line is complete.
    if (this.#lines.length === 0) return;
    if (this.#unreadLength > highWater) this.#setPaused(true);
    this.#wakeReader();
  }

  #setPaused(isPaused: boolean): void {
    if (this.#isPaused === isPaused) return;
    this.#isPaused = isPaused;
    this.#connection.setPaused(isPaused);
  }

  #finish(end: { readonly error?: unknown }): void {
    this.#end = end;
    // The connection may carry another request next.
    this.#setPaused(false);
    this.#wakeReader();
  }

  #wakeReader(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
