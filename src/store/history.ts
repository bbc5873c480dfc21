import { CompactedError, FutureRevisionError } from './errors.ts';
import type { Change, Entry } from './store.ts';
import { Tree } from './tree.ts';

/** The interval of snapshots in commits; states in between are rebuilt from changes on demand. */
const snapshotInterval = 64;

interface Snapshot {
  readonly revision: number;
  readonly tree: Tree<Entry>;
}

/**
 * The history that a store keeps in memory: the state at each revision since the compacted one, and the changes after it.
 * Revisions ascend and may have gaps.
 *
 * A tree per revision would take more memory than the changes (about 1 KB per commit at 10,000 keys), so only some are
 * kept. Replaying up to 63 commits takes well under 0.1 ms.
 */
export class History {
  #compacted: number;
  /** The revisions after `#compacted`, ascending. */
  #revisions: number[] = [];
  /** The changes of each of `#revisions`. */
  #commits: (readonly Change[])[] = [];
  /** Ascending; the first is that of `#compacted`. */
  #snapshots: Snapshot[];
  #current: Tree<Entry>;
  #bytes = 0;
  #pastBytes = 0;

  /** Starts a history at `compacted` with the state `tree`. */
  constructor(compacted = 0, tree: Tree<Entry> = Tree.empty()) {
    this.#compacted = compacted;
    this.#current = tree;
    this.#snapshots = [{ revision: compacted, tree }];
    for (const entry of tree.range('', undefined, Infinity)) this.#bytes += bytesOf(entry);
    // As in etcd the first revision is 1 and has no changes: clients send resource version 0 for "any".
    if (compacted === 0) this.append(1, [], tree);
  }

  get compacted(): number {
    return this.#compacted;
  }

  get revision(): number {
    return this.#revisions.at(-1) ?? this.#compacted;
  }

  /** The state at the last revision. */
  get current(): Tree<Entry> {
    return this.#current;
  }

  /** The bytes of all current and past keys and values. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The part of `bytes` that only reads of past revisions need. */
  get pastBytes(): number {
    return this.#pastBytes;
  }

  /** Appends a later revision: its changes and the resulting state. */
  append(revision: number, changes: readonly Change[], tree: Tree<Entry>): void {
    this.#revisions.push(revision);
    this.#commits.push(changes);
    this.#current = tree;
    for (const { entry, previous } of changes) {
      this.#bytes += bytesOf(entry);
      this.#pastBytes += bytesOf(previous);
    }
    if (this.#commits.length % snapshotInterval === 0) this.#snapshots.push({ revision, tree });
  }

  /** The state at a revision; throws a `CompactedError` or a `FutureRevisionError` if it is not available. */
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

  /** Drops the changes up to and including `revision`. Does nothing for a compacted one. */
  compact(revision: number): void {
    if (revision <= this.#compacted) return;
    const tree = this.at(revision);
    for (const changes of this.#between(this.#compacted, revision)) {
      for (const { previous } of changes) {
        this.#bytes -= bytesOf(previous);
        this.#pastBytes -= bytesOf(previous);
      }
    }
    const kept = this.#countUntil(revision);
    this.#revisions = this.#revisions.slice(kept);
    this.#commits = this.#commits.slice(kept);
    this.#snapshots = [{ revision, tree }, ...this.#snapshots.filter((snapshot) => snapshot.revision > revision)];
    this.#compacted = revision;
  }

  /** The revision that is `commits` commits older than the last, or the compacted one. */
  revisionBefore(commits: number): number {
    return this.#revisions[this.#revisions.length - 1 - commits] ?? this.#compacted;
  }

  /** The revision to compact to, so that at most `bytes` of history remain. */
  revisionKeeping(bytes: number): number {
    let kept = 0;
    for (let index = this.#commits.length - 1; index >= 0; index--) {
      for (const { previous } of this.#commits[index] ?? []) kept += bytesOf(previous);
      if (kept > bytes) return this.#revisions[index] ?? this.#compacted;
    }
    return this.#compacted;
  }

  #between(after: number, until: number): readonly (readonly Change[])[] {
    return this.#commits.slice(this.#countUntil(after), this.#countUntil(until));
  }

  /** The number of commits up to and including `revision`. */
  #countUntil(revision: number): number {
    let low = 0;
    let high = this.#revisions.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#revisions[middle] ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #check(revision: number): void {
    if (revision < this.#compacted) throw new CompactedError(revision, this.#compacted);
    if (revision > this.revision) throw new FutureRevisionError(revision, this.revision);
  }
}

/** Applies the changes of a commit. */
export function applied(tree: Tree<Entry>, changes: readonly Change[]): Tree<Entry> {
  let next = tree;
  for (const { key, entry } of changes) next = entry === undefined ? next.delete(key) : next.set(entry);
  return next;
}

/** The memory of an entry's key and value; 0 for none. V8 uses two bytes per character for text beyond Latin-1. */
export function bytesOf(entry: Entry | undefined): number {
  if (entry === undefined) return 0;
  const { key, value } = entry;
  return key.length + value.length * (Buffer.byteLength(value) === value.length ? 1 : 2);
}
