// What a server may make us hold. More than this comes from a server that is broken, or hostile: the largest object of an
// API server is some 3 MiB, and a page of a list is asked for in fewer objects when it is too long.
import { TooMuchError } from './errors.ts';

/** The longest answer that is held as a whole: an object, a page of a list, a document of discovery. */
export const mostAnswerBytes = 32 << 20;

/** The longest line of a stream, which is one event with its object. */
export const mostLineBytes = 8 << 20;

/** Pieces in which an answer, or a line, may come: a server that sends it byte by byte costs us more than it. */
export const mostPieces = 1 << 18;

/** Objects, and the bytes that a server sent for them. */
export interface Usage {
  readonly objects: number;
  readonly bytes: number;
}

/** What the objects of one kind may come to, by default: more than the largest clusters have. */
export const defaultBudget: Usage = { objects: 1_000_000, bytes: 4 * 2 ** 30 };

/** What several readers of a server may hold in all. */
export class ObjectBudget {
  readonly #limit: Usage;
  readonly #used = new Map<object, Usage>();
  #objects = 0;
  #bytes = 0;

  constructor(limit: Usage) {
    this.#limit = limit;
  }

  /** A reader holds so much now. Throws, and leaves what it held before, when that is too much. */
  use(reader: object, { objects, bytes }: Usage): void {
    const before = this.#used.get(reader) ?? { objects: 0, bytes: 0 };
    const all = { objects: this.#objects + objects - before.objects, bytes: this.#bytes + bytes - before.bytes };
    const isMore = objects > before.objects || bytes > before.bytes;
    if (isMore) {
      if (all.objects > this.#limit.objects) throw tooMuch('objects', this.#limit.objects);
      if (all.bytes > this.#limit.bytes) throw tooMuch('bytes of objects', this.#limit.bytes);
    }
    this.#used.set(reader, { objects, bytes });
    [this.#objects, this.#bytes] = [all.objects, all.bytes];
  }
}

/** The error for a server that sends more of something than the client accepts. */
export const tooMuch = (what: string, most: number): TooMuchError =>
  new TooMuchError(`the server sends more than ${most} ${what}`);

/** Texts of this length are looked at before they are parsed; nothing that fits in shorter ones does harm. */
const longText = 256 << 10;

/** The deepest nesting of JSON that is read, as deep as API servers read it. */
const deepest = 10_000;

/** As JSON.parse, but for a text that is nested so deeply that its values would take a hundred times its bytes. */
export function parseJson(text: string): unknown {
  if (text.length > longText && isDeeperThan(text, deepest)) {
    throw new TooMuchError(`the server sends JSON that is nested more than ${deepest} levels deep`);
  }
  return JSON.parse(text);
}

function isDeeperThan(text: string, most: number): boolean {
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isInText) {
      if (code === backslash) at++;
      else if (code === quote) isInText = false;
    } else if (code === quote) isInText = true;
    else if (code === openBrace || code === openBracket) {
      depth++;
      if (depth > most) return true;
    } else if (code === closeBrace || code === closeBracket) depth--;
  }
  return false;
}

const [quote, backslash] = [34, 92];
const [openBracket, closeBracket, openBrace, closeBrace] = [91, 93, 123, 125];
