// Rows as JSON, for streams.
import type { Board, Changes } from '../server/board.ts';
import type { Viewer } from '../server/viewer.ts';
import { parseId } from '../view/ids.ts';

/** The rows that a stream sends. */
export interface RowTexts {
  /** The ids of all rows that may be visible. */
  ids(): Iterable<string>;
  /** A row as JSON; undefined: it is gone, or not visible. */
  text(id: string): string | undefined;
}

/**
 * The rows with the rights of the dashboard, shared by all streams of its owner: each row is computed and encoded once per
 * change, whatever the number of pages.
 */
export class OwnerTexts implements RowTexts {
  readonly #board: Board;
  readonly #viewer: Viewer;
  /** Id → JSON. */
  readonly #texts = new Map<string, string>();

  constructor(board: Board, viewer: Viewer) {
    this.#board = board;
    this.#viewer = viewer;
  }

  *ids(): Iterable<string> {
    for (const feed of this.#board.feeds) yield* feed.ids();
  }

  text(id: string): string | undefined {
    const known = this.#texts.get(id);
    if (known !== undefined) return known;
    const row = this.#board.row(id, this.#viewer.rightsIn);
    if (row === undefined) return undefined;
    const text = JSON.stringify(row);
    this.#texts.set(id, text);
    return text;
  }

  /** Computes rows again, and returns the ids of those that differ: most changes of slices change no row. */
  renew({ ids }: Changes): readonly string[] {
    return [...ids].filter((id) => {
      const before = this.#texts.get(id);
      this.#texts.delete(id);
      return this.text(id) !== before;
    });
  }
}

/** The rows with the rights of a viewer. */
export const textsFor = (board: Board, { sees, rightsIn }: Viewer): RowTexts => ({
  *ids() {
    for (const feed of board.feeds) if (sees(feed.cluster.name)) yield* feed.ids();
  },
  text(id) {
    const { cluster } = parseId(id);
    const row = sees(cluster) ? board.row(id, rightsIn) : undefined;
    return row === undefined ? undefined : JSON.stringify(row);
  },
});
