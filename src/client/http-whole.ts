import type { AnswerHead } from './http-answer.ts';
import type { HttpConnection } from './http-connection.ts';
import type { ApiAnswer } from './transport.ts';

/** What became of a request: an answer, or a failure. */
export type Outcome =
  | { readonly answer: ApiAnswer }
  | {
      readonly error: unknown;
      /** The connection had been idle, and nothing came back: the server may have closed it before it was asked. */
      readonly isUnanswered: boolean;
    };

/** Sends a request and takes its answer as a whole. */
export function exchange(connection: HttpConnection, request: string): Promise<Outcome> {
  return new Promise((resolve) => {
    let head: AnswerHead = { status: 0, headers: {} };
    const pieces: Buffer[] = [];
    connection.send(request, {
      head: (begun) => (head = begun),
      body: (bytes, from, to) => void pieces.push(bytes.subarray(from, to)),
      end: () => resolve({ answer: { ...head, body: textOf(pieces) } }),
      failed: (error, isUnanswered) => resolve({ error, isUnanswered }),
    });
  });
}

function textOf(pieces: readonly Buffer[]): string {
  const [only] = pieces;
  if (only === undefined) return '';
  return (pieces.length === 1 ? only : Buffer.concat(pieces)).toString();
}
