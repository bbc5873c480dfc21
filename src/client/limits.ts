// What a server may make us hold. More than this comes from a server that is broken, or hostile: the largest object of an
// API server is some 3 MiB, and a page of a list is asked for in fewer objects when it is too long.
import { LimitExceededError } from './errors.ts';

/** The longest answer that is held as a whole: an object, a page of a list, a document of discovery. */
export const maxResponseBytes = 32 << 20;

/** The longest line of a stream, which is one event with its object. */
export const maxLineBytes = 8 << 20;

/** Pieces in which an answer, or a line, may come: a server that sends it byte by byte costs us more than it. */
export const maxPieces = 1 << 18;

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
      if (all.objects > this.#limit.objects) throw limitExceeded('objects', this.#limit.objects);
      if (all.bytes > this.#limit.bytes) throw limitExceeded('bytes of objects', this.#limit.bytes);
    }
    this.#used.set(reader, { objects, bytes });
    [this.#objects, this.#bytes] = [all.objects, all.bytes];
  }
}

/** The error for a server that sends more of something than the client accepts. */
export const limitExceeded = (what: string, most: number): LimitExceededError =>
  new LimitExceededError(`the server sends more than ${most} ${what}`);
