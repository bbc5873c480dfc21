import type { HttpConnection, HttpRequest, ResponseHead } from './http-connection.ts';
import { maxResponseBytes, maxPieces, limitExceeded } from './limits.ts';
import type { ApiResponse } from './transport.ts';

/** The result of a request. */
export type Outcome =
  | { readonly response: ApiResponse }
  | {
      readonly error: unknown;
      /** An idle connection closed without a response: the server may have closed it before the request. */
      readonly isStaleConnection: boolean;
    };

/** Sends a request and buffers its response, up to `maxResponseBytes`. */
export function exchange(connection: HttpConnection, request: HttpRequest): Promise<Outcome> {
  return new Promise((resolve) => {
    let head: ResponseHead = { status: 0, headers: {} };
    const body = new Body();
    connection.send(request, {
      head: (begun) => {
        head = begun;
        body.expect(Number(begun.headers['content-length'] ?? 0));
      },
      body: (bytes) => body.add(bytes),
      end: () => resolve({ response: { ...head, body: body.text() } }),
      failed: (error, isStaleConnection) => resolve({ error, isStaleConnection }),
    });
  });
}

/** Shorter pieces are copied into blocks: a retained Buffer has an overhead of some hundred bytes. */
const shortPiece = 4096;
const blockBytes = 64 << 10;

/** A response body that takes about as much memory as its bytes, however small its pieces are. */
class Body {
  readonly #pieces: Buffer[] = [];
  #length = 0;
  #count = 0;
  /** The block for short pieces and its used length. */
  #block = Buffer.alloc(0);
  #used = 0;

  /** Throws if a body of this size is too large. */
  expect(bytes: number): void {
    if (bytes > maxResponseBytes) throw limitExceeded('bytes in a response', maxResponseBytes);
  }

  add(piece: Buffer): void {
    this.#length += piece.length;
    this.expect(this.#length);
    if (++this.#count > maxPieces) throw limitExceeded('pieces of a response', maxPieces);
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
