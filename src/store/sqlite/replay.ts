import { applied, History } from '../history.ts';
import type { Change, DamagedRecord, Entry } from '../store.ts';
import { Tree } from '../tree.ts';
import type { DamagedRow, Opened, Rows } from './protocol.ts';
import { revisionOf, rowWidth } from './protocol.ts';

/** The initial state of a store. */
interface Replayed {
  readonly history: History;
  /** key → its last record, if that is damaged */
  readonly damaged: ReadonlyMap<string, DamagedRecord>;
}

interface LoadedRow {
  readonly id: number;
  readonly key: string;
  readonly entry: Entry | undefined;
}

/** Builds the history from the rows of the log, as far back as it is complete. */
export class Replay {
  readonly #rows: LoadedRow[] = [];

  /** Adds the next rows of the log. */
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

  /** Returns the history after all rows are added. No damaged row is newer than `compacted`. */
  finish(opened: Pick<Opened, 'compacted' | 'swept' | 'damaged'>): Replayed {
    const start = this.#contiguousAfter(opened.compacted);
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

  /** The revision after which no revision is missing. Each commit raises it by one, so a gap is a loss. */
  #contiguousAfter(compacted: number): number {
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

/** The state after `rows`, without keys whose last record is damaged. */
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
 * Keys whose value may be outdated because a damaged row may be theirs: those written by the commit that the row replaces,
 * unless its own key is one of them and therefore intact. Up to `swept`, replaced rows are removed.
 */
function staleKeys(tree: Tree<Entry>, { id, key, previous }: DamagedRow, swept: number): readonly string[] {
  if (previous === 0 || revisionOf(id) <= swept || tree.get(key)?.revision === previous) return [];
  return tree
    .range('', undefined, Infinity)
    .filter(({ revision }) => revision === previous)
    .map((entry) => entry.key);
}

function append(history: History, commit: readonly Change[]): void {
  const revision = commit[0]?.revision ?? history.revision;
  history.append(revision, commit, applied(history.current, commit));
}
