import { InvalidCommitError, ValueTooLargeError } from './errors.ts';
import type { Change, Commit, DamagedRecord, Entry, Write } from './store.ts';
import type { Tree } from './tree.ts';

/** The maximum number of keys per commit, as in etcd. */
const maxWrites = 128;

/** Throws an `InvalidCommitError` for too many or duplicate keys. */
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

/** Throws a `ValueTooLargeError` for a value over the limit, unless it is smaller than the current one. */
export function checkSizes(writes: readonly Write[], tree: Tree<Entry>, limit: number): void {
  for (const { key, value, isDeletion, bytes: counted } of writes) {
    if (value === undefined || isDeletion === true || value.length * 3 <= limit) continue;
    const bytes = counted ?? Buffer.byteLength(value);
    if (bytes <= limit) continue;
    const previous = tree.get(key);
    if (previous !== undefined && Buffer.byteLength(value) < Buffer.byteLength(previous.value)) continue;
    throw new ValueTooLargeError(key, { bytes, limit });
  }
}

/** The state before a commit: entries, revision and keys with damaged records. */
export interface State {
  readonly tree: Tree<Entry>;
  readonly revision: number;
  readonly damaged: ReadonlyMap<string, DamagedRecord>;
}

/** The first conflict of the writes with the state; undefined: none. */
export function conflictOf(writes: readonly Write[], { tree, revision, damaged }: State): Commit | undefined {
  for (const { key, expect } of writes) {
    if (expect === undefined) continue;
    const current = tree.get(key) ?? damaged.get(key);
    if ((current?.revision ?? 0) !== expect) return { ok: false, key, current, revision };
  }
  return undefined;
}

/** The changes of the writes as the next commit. Deleting an absent key is no change, as in etcd. */
export function changesOf(writes: readonly Write[], { tree, revision: before, damaged }: State): Change[] {
  const changes: Change[] = [];
  const revision = before + 1;
  for (const { key, value } of writes) {
    const previous = tree.get(key);
    const repairs = previous === undefined ? damaged.get(key)?.revision : undefined;
    if (value === undefined && previous === undefined && repairs === undefined) continue;
    const entry = value === undefined ? undefined : { key, value, revision, created: previous?.created ?? revision };
    changes.push({ key, revision, entry, previous, ...(repairs === undefined ? {} : { repairs }) });
  }
  return changes;
}

/** The smallest string that is greater than all strings with `prefix`; undefined if there is none. */
export function afterPrefix(prefix: string): string | undefined {
  if (prefix === '') return undefined;
  const last = prefix.length - 1;
  return prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1);
}
