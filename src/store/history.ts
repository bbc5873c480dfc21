import { CompactedError, FutureRevisionError } from './errors.ts';
import type { Change, Entry } from './store.ts';
import { Tree } from './tree.ts';

/** A snapshot is kept every so many revisions; those between are made again from the changes when asked for. */
const snapshotEvery = 64;

interface Snapshot {
  readonly revision: number;
  readonly tree: Tree<Entry>;
}

/**
 * The durable past of an embedded store: the state at each revision since the compacted one, and the changes after it.
 *
 * A root for every revision would cost more memory than the changes themselves (about 1 KB a commit at 10,000 keys), so
 * only some are kept; replaying up to 63 commits takes well under 0.1 ms.
 */
export class History {
  #compacted: number;
  /** The changes of revision `#compacted + 1`, `+ 2`, … */
  #commits: (readonly Change[])[] = [];
  /** Ascending; the first is that of `#compacted`. */
  #snapshots: Snapshot[];
  #current: Tree<Entry>;
  #bytes = 0;
  #pastBytes = 0;

  /** A history that begins at `compacted`, where the state was `tree`. */
  constructor(compacted = 0, tree: Tree<Entry> = Tree.empty()) {
    this.#compacted = compacted;
    this.#current = tree;
    this.#snapshots = [{ revision: compacted, tree }];
    for (const entry of tree.range('', undefined, Infinity)) this.#bytes += bytesOf(entry);
    // As in etcd the first revision is 1 and has no changes: clients take resource version 0 to mean "any".
    if (compacted === 0) this.append([], tree);
  }

  get compacted(): number {
    return this.#compacted;
  }

  get revision(): number {
    return this.#compacted + this.#commits.length;
  }

  /** The state at the last revision. */
  get current(): Tree<Entry> {
    return this.#current;
  }

  /** The length of all keys and values that are held, now or in the past. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The part of `bytes` that only readers of past revisions need. */
  get pastBytes(): number {
    return this.#pastBytes;
  }

  /** Adds the next revision: its changes, and the state they lead to. */
  append(changes: readonly Change[], tree: Tree<Entry>): void {
    this.#commits.push(changes);
    this.#current = tree;
    for (const { entry, previous } of changes) {
      this.#bytes += bytesOf(entry);
      this.#pastBytes += bytesOf(previous);
    }
    const { revision } = this;
    if (revision % snapshotEvery === 0) this.#snapshots.push({ revision, tree });
  }

  /** The state at a revision; throws a `CompactedError` or a `FutureRevisionError` if there is none. */
  at(revision: number): Tree<Entry> {
    if (revision === this.revision) return this.#current;
    this.#check(revision);
    const nearest = this.#snapshots.findLast((snapshot) => snapshot.revision <= revision);
    if (nearest === undefined) throw new Error(`bug: no snapshot at or before revision ${revision}`);
    let { tree } = nearest;
    for (const changes of this.#between(nearest.revision, revision)) tree = applied(tree, changes);
    return tree;
  }

  /** The changes of every commit after a revision, in order; throws as `at` does. */
  after(revision: number): readonly (readonly Change[])[] {
    this.#check(revision);
    return this.#between(revision, this.revision);
  }

  /** Forgets the changes up to and including `revision`. An older one than is compacted already changes nothing. */
  compact(revision: number): void {
    if (revision <= this.#compacted) return;
    const tree = this.at(revision);
    for (const changes of this.#between(this.#compacted, revision)) {
      for (const { previous } of changes) {
        this.#bytes -= bytesOf(previous);
        this.#pastBytes -= bytesOf(previous);
      }
    }
    this.#commits = this.#commits.slice(revision - this.#compacted);
    this.#snapshots = [{ revision, tree }, ...this.#snapshots.filter((snapshot) => snapshot.revision > revision)];
    this.#compacted = revision;
  }

  /** The revision to compact to, so that at most `bytes` are kept for readers of past revisions. */
  revisionKeeping(bytes: number): number {
    let kept = 0;
    for (let index = this.#commits.length - 1; index >= 0; index--) {
      for (const { previous } of this.#commits[index] ?? []) kept += bytesOf(previous);
      if (kept > bytes) return this.#compacted + index + 1;
    }
    return this.#compacted;
  }

  #between(after: number, until: number): readonly (readonly Change[])[] {
    return this.#commits.slice(after - this.#compacted, until - this.#compacted);
  }

  #check(revision: number): void {
    if (revision < this.#compacted) throw new CompactedError(revision, this.#compacted);
    if (revision > this.revision) throw new FutureRevisionError(revision, this.revision);
  }
}

/** The tree after the changes of a commit. */
export function applied(tree: Tree<Entry>, changes: readonly Change[]): Tree<Entry> {
  let next = tree;
  for (const { key, entry } of changes) next = entry === undefined ? next.delete(key) : next.set(entry);
  return next;
}

/** What an entry's key and value take in memory; 0 for none. V8 uses two bytes a character for text beyond Latin-1. */
export function bytesOf(entry: Entry | undefined): number {
  if (entry === undefined) return 0;
  const { key, value } = entry;
  return key.length + value.length * (Buffer.byteLength(value) === value.length ? 1 : 2);
}
