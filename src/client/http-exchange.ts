import type { ResponseHead } from './http-response.ts';
import type { HttpConnection } from './http-connection.ts';
import { maxResponseBytes, maxPieces, limitExceeded } from './limits.ts';
import type { ApiResponse } from './transport.ts';

/** What became of a request: an answer, or a failure. */
export type Outcome =
  | { readonly answer: ApiResponse }
  | {
      readonly error: unknown;
      /** The connection had been idle, and nothing came back: the server may have closed it before it was asked. */
      readonly isUnanswered: boolean;
    };

/** Sends a request and takes its answer as a whole, up to the longest that there may be. */
export function exchange(connection: HttpConnection, request: string): Promise<Outcome> {
  return new Promise((resolve) => {
    let head: ResponseHead = { status: 0, headers: {} };
    const body = new Body();
    connection.send(request, {
      head: (begun) => {
        head = begun;
        body.expect(Number(begun.headers['content-length'] ?? 0));
      },
      body: (bytes, from, to) => body.add(bytes.subarray(from, to)),
      end: () => resolve({ answer: { ...head, body: body.text() } }),
      failed: (error, isUnanswered) => resolve({ error, isUnanswered }),
    });
  });
}

/** Shorter pieces are copied: each that is kept takes some hundred bytes beside its own. */
const shortPiece = 4096;
const blockBytes = 64 << 10;

/** The body of an answer, of which the pieces take about as much memory as their bytes. */
class Body {
  readonly #pieces: Buffer[] = [];
  #length = 0;
  #count = 0;
  /** Where short pieces are copied to, and how much of it is used. */
  #block = Buffer.alloc(0);
  #used = 0;

  /** Throws when so many bytes would be too many. */
  expect(bytes: number): void {
    if (bytes > maxResponseBytes) throw limitExceeded('bytes in an answer', maxResponseBytes);
  }

  add(piece: Buffer): void {
    this.#length += piece.length;
    this.expect(this.#length);
    if (++this.#count > maxPieces) throw limitExceeded('pieces of an answer', maxPieces);
    if (piece.length >= shortPiece) {
      this.#closeBlock();
      this.#pieces.push(piece);
      return;
    }
    if (this.#used + piece.length > this.#block.length) {
      this.#closeBlock();
      this.#block = Buffer.allocUnsafe(this.#length < blockBytes ? shortPiece : blockBytes);
    }
    this.#used += piece.copy(this.#block, this.#used);
  }

  text(): string {
    this.#closeBlock();
    const [only] = this.#pieces;
    if (only === undefined) return '';
    return (this.#pieces.length === 1 ? only : Buffer.concat(this.#pieces)).toString();
  }

  #closeBlock(): void {
    if (this.#used > 0) this.#pieces.push(this.#block.subarray(0, this.#used));
    this.#block = this.#block.subarray(this.#used);
    this.#used = 0;
  }
}
