import { maxLineBytes, maxPieces, limitExceeded } from './limits.ts';

/** Pieces of a line are joined when there are so many: a server may send it byte by byte. */
const joinedPieces = 1024;

/** Cuts pieces of text into lines. What is left when the pieces end is an unfinished line, and is dropped. */
export class LineSplitter {
  /** The unfinished line: long pieces, and behind them short ones. */
  #rest: string[] = [];
  #last: string[] = [];
  #length = 0;

  /** The lines that `text` completes. Throws when a line is longer than there may be. */
  push(text: string): readonly string[] {
    const parts = text.split('\n');
    const unfinished = parts.pop() ?? '';
    if (parts.length > 0) {
      parts[0] = [...this.#rest, ...this.#last].join('') + (parts[0] ?? '');
      [this.#rest, this.#last, this.#length] = [[], [], 0];
    }
    this.#length += unfinished.length;
    if (this.#length > maxLineBytes) throw limitExceeded('characters in a line', maxLineBytes);
    if (unfinished !== '') this.#last.push(unfinished);
    if (this.#rest.length > maxPieces / joinedPieces) throw limitExceeded('pieces of a line', maxPieces);
    if (this.#last.length >= joinedPieces) this.#rest.push(this.#last.splice(0).join(''));
    return parts.filter((line) => line !== '');
  }
}
