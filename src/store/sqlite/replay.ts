import { applied, History } from '../history.ts';
import type { Change, Entry } from '../store.ts';
import { Tree } from '../tree.ts';
import type { Rows } from './protocol.ts';
import { revisionOf, rowWidth } from './protocol.ts';

/** Makes the history again from the rows of the log, as far back as the horizon. */
export class Replay {
  /** All rows so far; entries are few objects more than the rows would be. */
  readonly #changes: Omit<Change, 'previous'>[] = [];

  /** Takes the next rows of the log. */
  add(rows: Rows): void {
    for (let i = 0; i < rows.length; i += rowWidth) {
      const [id, key, value, created] = [rows[i], rows[i + 1], rows[i + 2], rows[i + 3]];
      if (typeof id !== 'number' || typeof key !== 'string' || typeof created !== 'number') {
        throw new Error(`bug: row ${i / rowWidth} of the log is not one`);
      }
      const revision = revisionOf(id);
      const entry = typeof value === 'string' ? { key, value, revision, created } : undefined;
      this.#changes.push({ key, revision, entry });
    }
  }

  /** The history after `compacted`, when all rows are there. */
  finish(compacted: number): History {
    let next = 0;
    let base = Tree.empty<Entry>();
    for (; next < this.#changes.length; next++) {
      const change = this.#changes[next];
      if (change === undefined || change.revision > compacted) break;
      base = applied(base, [{ ...change, previous: undefined }]);
    }
    const history = new History(compacted, base);
    let commit: Change[] = [];
    for (const { key, revision, entry } of this.#changes.slice(next)) {
      if (commit.length > 0 && commit[0]?.revision !== revision) {
        append(history, commit);
        commit = [];
      }
      commit.push({ key, revision, entry, previous: history.current.get(key) });
    }
    if (commit.length > 0) append(history, commit);
    return history;
  }
}

const append = (history: History, commit: readonly Change[]): void =>
  history.append(commit, applied(history.current, commit));
