import { InvalidCommitError } from './errors.ts';
import type { Change, Commit, Entry, Write } from './store.ts';
import type { Tree } from './tree.ts';

/** A commit may write this many keys, as in etcd. */
const maxWrites = 128;

/** Throws an `InvalidCommitError` unless the writes can be one commit. */
export function checkWrites(writes: readonly Write[]): void {
  if (writes.length > maxWrites) {
    throw new InvalidCommitError(`a commit writes at most ${maxWrites} keys, not ${writes.length}`);
  }
  if (writes.length < 2) return;
  const keys = new Set<string>();
  for (const { key } of writes) {
    if (keys.has(key)) throw new InvalidCommitError(`a commit writes each key once, but "${key}" twice`);
    keys.add(key);
  }
}

/** What becomes of writes that find the state `tree`, which is at `revision`. A conflict is with the first key. */
export function conflictOf(writes: readonly Write[], tree: Tree<Entry>, revision: number): Commit | undefined {
  for (const { key, expect } of writes) {
    if (expect === undefined) continue;
    const current = tree.get(key);
    if ((current?.revision ?? 0) !== expect) return { ok: false, key, current, revision };
  }
  return undefined;
}

/** The changes that writes make to `tree` as the commit `revision`. Deleting what is not there is none, as in etcd. */
export function changesOf(writes: readonly Write[], tree: Tree<Entry>, revision: number): Change[] {
  const changes: Change[] = [];
  for (const { key, value } of writes) {
    const previous = tree.get(key);
    if (value === undefined) {
      if (previous !== undefined) changes.push({ key, revision, entry: undefined, previous });
      continue;
    }
    const entry: Entry = { key, value, revision, created: previous?.created ?? revision };
    changes.push({ key, revision, entry, previous });
  }
  return changes;
}

/** The least string greater than all that begin with `prefix`; undefined if there is none. */
export function afterPrefix(prefix: string): string | undefined {
  if (prefix === '') return undefined;
  const last = prefix.length - 1;
  return prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1);
}
