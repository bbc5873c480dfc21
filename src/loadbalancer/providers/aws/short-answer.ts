import { Transform } from 'node:stream';

/** More than any answer of AWS to a question for a thousand things takes. */
export const mostAnswerBytes = 16 << 20;

/** Passes an answer on, as long as it is short enough. */
export function shortAnswer(): Transform {
  let length = 0;
  return new Transform({
    transform(piece: Uint8Array, _encoding, done) {
      length += piece.length;
      if (length <= mostAnswerBytes) done(null, piece);
      else done(new Error(`AWS sends more than ${mostAnswerBytes} bytes in an answer`));
    },
  });
}
