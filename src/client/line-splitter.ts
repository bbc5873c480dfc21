import { maxLineBytes, maxPieces, limitExceeded } from './limits.ts';

/** Pieces of a line are joined in groups of this size, since a server may send a line byte by byte. */
const joinedPieces = 1024;

/** Splits a stream of text into lines. An incomplete last line is dropped. */
export class LineSplitter {
  /** The incomplete line: joined pieces, then the pieces received since. */
  #joined: string[] = [];
  #pieces: string[] = [];
  #length = 0;

  /** Returns the lines that `text` completes. Throws if a line is too long. */
  push(text: string): readonly string[] {
    const parts = text.split('\n');
    const unfinished = parts.pop() ?? '';
    if (parts.length > 0) {
      parts[0] = [...this.#joined, ...this.#pieces].join('') + (parts[0] ?? '');
      [this.#joined, this.#pieces, this.#length] = [[], [], 0];
    }
    this.#length += unfinished.length;
    if (this.#length > maxLineBytes) throw limitExceeded('characters in a line', maxLineBytes);
    if (unfinished !== '') this.#pieces.push(unfinished);
    if (this.#joined.length > maxPieces / joinedPieces) throw limitExceeded('pieces of a line', maxPieces);
    if (this.#pieces.length >= joinedPieces) this.#joined.push(this.#pieces.splice(0).join(''));
    return parts.filter((line) => line !== '');
  }
}
