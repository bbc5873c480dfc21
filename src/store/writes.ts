import { InvalidCommitError, QuotaExceededError, ValueTooLargeError } from './errors.ts';
import { bytesOf } from './history.ts';
import { maxWrites } from './limits.ts';
import type { Change, Commit, DamagedRecord, Entry, Range, RangeOptions, Write } from './store.ts';
import type { Tree } from './tree.ts';

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

/** By how much writes that do not grow the store, such as lease renewals, may exceed the quota until compaction. */
const reserveShare = 1 / 4;

/** Returns the bytes that the changes of a commit add; throws a `QuotaExceededError` if the store may not hold them. */
export function checkQuota(
  writes: readonly Write[],
  changes: readonly Change[],
  { bytes, quota }: { readonly bytes: number; readonly quota: number },
): number {
  let [added, growth] = [0, 0];
  for (const { entry, previous } of changes) {
    added += bytesOf(entry);
    growth += bytesOf(entry) - bytesOf(previous);
  }
  const allowed = growth > 0 ? quota : quota * (1 + reserveShare);
  const isRefused = added > 0 && bytes + added > allowed && !writes.some(({ isDeletion }) => isDeletion === true);
  if (isRefused) throw new QuotaExceededError({ bytes, quota });
  return added;
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
  for (const { key, value, isCheck } of writes) {
    if (isCheck === true) continue;
    const previous = tree.get(key);
    const repairs = previous === undefined ? damaged.get(key)?.revision : undefined;
    if (value === undefined && previous === undefined && repairs === undefined) continue;
    const entry = value === undefined ? undefined : { key, value, revision, created: previous?.created ?? revision };
    changes.push({ key, revision, entry, previous, ...(repairs === undefined ? {} : { repairs }) });
  }
  return changes;
}

/** The entries of a range of the state at a revision. */
export function rangeOf(
  tree: Tree<Entry>,
  prefix: string,
  options: RangeOptions & { readonly revision: number },
): Range {
  const { revision } = options;
  const from = options.from !== undefined && options.from > prefix ? options.from : prefix;
  const below = afterPrefix(prefix);
  const limit = options.limit || Infinity;
  const entries = tree.range(from, below, limit);
  if (entries.length < limit) return { entries, revision, more: false, remaining: 0 };
  const end = below === undefined ? tree.size : tree.countBelow(below);
  const remaining = Math.max(0, end - tree.countBelow(from) - entries.length);
  return { entries, revision, more: remaining > 0, remaining };
}

/** The smallest string that is greater than all strings with `prefix`; undefined if there is none. */
export function afterPrefix(prefix: string): string | undefined {
  if (prefix === '') return undefined;
  const last = prefix.length - 1;
  return prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1);
}
