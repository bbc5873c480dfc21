// Bounds on the memory that a broken or hostile server can make the client use. The largest object of an API server has
// about 3 MiB, and the client requests smaller pages if a page of a list is too large.
import { LimitExceededError } from './errors.ts';

/** The largest response that is buffered: an object, a page of a list, a discovery document. */
export const maxResponseBytes = 32 << 20;

/** The longest line of a watch stream; a line is one event with its object. */
export const maxLineBytes = 8 << 20;

/** The most pieces that one response or line may arrive in: every piece has a fixed cost, however small it is. */
export const maxPieces = 1 << 18;

/** Objects and their size on the wire. */
export interface Usage {
  readonly objects: number;
  readonly bytes: number;
}

/** The default budget of one kind, above the size of the largest clusters. */
export const defaultBudget: Usage = { objects: 1_000_000, bytes: 4 * 2 ** 30 };

/** A budget that several readers of a server share. */
export class ObjectBudget {
  readonly #limit: Usage;
  readonly #used = new Map<object, Usage>();
  #objects = 0;
  #bytes = 0;

  constructor(limit: Usage) {
    this.#limit = limit;
  }

  /** Records the usage of a reader. Throws, and keeps the previous usage, if the total exceeds the budget. */
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

export const limitExceeded = (what: string, limit: number): LimitExceededError =>
  new LimitExceededError(`the server sends more than ${limit} ${what}`);
