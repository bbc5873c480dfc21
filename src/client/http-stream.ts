import { StringDecoder } from 'node:string_decoder';
import type { Exchange, HttpConnection } from './http-connection.ts';
import type { ResponseHead } from './http-response.ts';
import { limitExceeded } from './limits.ts';
import { LineSplitter } from './line-splitter.ts';

/** So much may be read and not taken yet; the server waits with the rest. */
const mostWaiting = 1 << 20;

/** An answer whose lines are taken while it goes on. Who stops taking them calls `drop`. */
export class LineStream {
  readonly #connection: HttpConnection;
  readonly #decoder = new StringDecoder('utf8');
  readonly #cutter = new LineSplitter();
  readonly #head = Promise.withResolvers<ResponseHead | undefined>();
  /** The text of a refusal, which is no stream. */
  #refusal: string | undefined;
  #lines: string[] = [];
  #waitingLength = 0;
  #isHeld = false;
  #end: { readonly error?: unknown } | undefined;
  /** Wakes who waits for lines, or the end. */
  #wake: (() => void) | undefined;

  constructor(connection: HttpConnection) {
    this.#connection = connection;
  }

  /** What the connection tells. */
  get exchange(): Exchange {
    return {
      head: (head) => {
        if (head.status !== 200) this.#refusal = '';
        this.#head.resolve(head);
      },
      body: (bytes, from, to) => this.#take(this.#decoder.write(bytes.subarray(from, to))),
      end: () => this.#over({}),
      failed: (error, isUnanswered) => {
        if (isUnanswered) this.#head.resolve(undefined);
        else this.#head.reject(error);
        this.#over({ error });
      },
    };
  }

  /** How the answer begins; undefined if a connection that had been idle turned out to be closed. */
  head(): Promise<ResponseHead | undefined> {
    return this.#head.promise;
  }

  /** The whole text of an answer that refuses. */
  async refusal(): Promise<string> {
    while (this.#end === undefined) await this.#more();
    if ('error' in this.#end) throw this.#end.error;
    return this.#refusal ?? '';
  }

  /** The lines that have arrived since, at least one; undefined at the end. Rejects where the stream broke off. */
  async next(): Promise<readonly string[] | undefined> {
    while (this.#lines.length === 0) {
      if (this.#end !== undefined) {
        if ('error' in this.#end) throw this.#end.error;
        return undefined;
      }
      this.#hold(false);
      await this.#more();
    }
    const lines = this.#lines;
    this.#lines = [];
    this.#waitingLength = 0;
    return lines;
  }

  /** Drops the connection, unless the answer is over and it carries another by now. */
  drop(reason: unknown): void {
    if (this.#end === undefined) this.#connection.drop(reason);
  }

  #more(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  #take(text: string): void {
    if (this.#refusal !== undefined) {
      this.#refusal += text;
      if (this.#refusal.length > mostWaiting) throw limitExceeded('characters in a refusal', mostWaiting);
      return;
    }
    for (const line of this.#cutter.push(text)) this.#lines.push(line);
    this.#waitingLength += text.length;
    // A line that has not ended yet is waited for.
    if (this.#lines.length === 0) return;
    if (this.#waitingLength > mostWaiting) this.#hold(true);
    this.#awaken();
  }

  #hold(isHeld: boolean): void {
    if (this.#isHeld === isHeld) return;
    this.#isHeld = isHeld;
    this.#connection.hold(isHeld);
  }

  #over(end: { readonly error?: unknown }): void {
    this.#end = end;
    // The connection may carry another request by now.
    this.#hold(false);
    this.#awaken();
  }

  #awaken(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
