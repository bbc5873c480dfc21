import { applied, History } from '../history.ts';
import type { Change, DamagedRecord, Entry } from '../store.ts';
import { Tree } from '../tree.ts';
import type { DamagedRow, Opened, Rows } from './protocol.ts';
import { revisionOf, rowWidth } from './protocol.ts';

/** What a store begins with. */
interface Replayed {
  readonly history: History;
  /** key → the damaged record that is its last one */
  readonly damaged: ReadonlyMap<string, DamagedRecord>;
}

interface LoadedRow {
  readonly id: number;
  readonly key: string;
  readonly entry: Entry | undefined;
}

/** Builds the history from the rows of the log, as far back as it is whole. */
export class Replay {
  /** All rows so far; entries are few objects more than the rows would be. */
  readonly #rows: LoadedRow[] = [];

  /** Takes the next rows of the log. */
  add(rows: Rows): void {
    for (let i = 0; i < rows.length; i += rowWidth) {
      const [id, key, value, created] = [rows[i], rows[i + 1], rows[i + 2], rows[i + 3]];
      if (typeof id !== 'number' || typeof key !== 'string' || typeof created !== 'number') {
        throw new Error(`bug: row ${i / rowWidth} of the log is not one`);
      }
      const entry = typeof value === 'string' ? { key, value, revision: revisionOf(id), created } : undefined;
      this.#rows.push({ id, key, entry });
    }
  }

  /** The history, when all rows are there. No damaged row is newer than `compacted`. */
  finish(opened: Pick<Opened, 'compacted' | 'swept' | 'damaged'>): Replayed {
    const start = this.#wholeAfter(opened.compacted);
    const end = this.#rows.findIndex(({ id }) => revisionOf(id) > start);
    const past = end < 0 ? this.#rows.length : end;
    const base = baseOf(this.#rows.slice(0, past), opened);
    const history = new History(start, base.tree);
    let commit: Change[] = [];
    for (const { id, key, entry } of this.#rows.slice(past)) {
      const revision = revisionOf(id);
      if (commit.length > 0 && commit[0]?.revision !== revision) {
        append(history, commit);
        commit = [];
      }
      commit.push({ key, revision, entry, previous: history.current.get(key) });
      base.damaged.delete(key);
    }
    if (commit.length > 0) append(history, commit);
    return { history, damaged: base.damaged };
  }

  /** The revision after which none is missing. Each commit raises it by one, so a gap is a loss. */
  #wholeAfter(compacted: number): number {
    let start = compacted;
    let last = Math.max(compacted, 1); // revision 1 has no rows
    for (const { id } of this.#rows) {
      const revision = revisionOf(id);
      if (revision <= last) continue;
      if (revision > last + 1) start = revision - 1;
      last = revision;
    }
    return start;
  }
}

/** The state after `rows`. Keys whose last record is damaged are not in it, whatever older records say. */
function baseOf(
  rows: readonly LoadedRow[],
  { damaged, swept }: Pick<Opened, 'damaged' | 'swept'>,
): { readonly tree: Tree<Entry>; readonly damaged: Map<string, DamagedRecord> } {
  let tree = Tree.empty<Entry>();
  const records = new Map<string, DamagedRecord>();
  const quarantine = (row: DamagedRow): void => {
    const { id, key } = row;
    const stale = staleKeys(tree, row, swept).map((other) => ({ key: other, revision: row.previous, row: id }));
    for (const record of [...stale, { key, revision: revisionOf(id), row: id }]) {
      tree = tree.delete(record.key);
      records.set(record.key, record);
    }
  };
  let next = 0;
  for (const { id, key, entry } of rows) {
    for (let row = damaged[next]; row !== undefined && row.id < id; row = damaged[++next]) quarantine(row);
    tree = entry === undefined ? tree.delete(key) : tree.set(entry);
    records.delete(key);
  }
  for (const row of damaged.slice(next)) quarantine(row);
  return { tree, damaged: records };
}

/**
 * Keys whose value may be out of date since a damaged row may be theirs: those written by the commit that it replaces,
 * unless its own key is one of them, and so intact. Below `swept` what a row replaces is gone.
 */
function staleKeys(tree: Tree<Entry>, { id, key, previous }: DamagedRow, swept: number): readonly string[] {
  if (previous === 0 || revisionOf(id) <= swept || tree.get(key)?.revision === previous) return [];
  return tree
    .range('', undefined, Infinity)
    .filter(({ revision }) => revision === previous)
    .map((entry) => entry.key);
}

const append = (history: History, commit: readonly Change[]): void =>
  history.append(commit, applied(history.current, commit));
