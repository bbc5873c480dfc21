import assert from 'node:assert/strict';

import type { StoreLimits } from '../limits.ts';
import type { Entry, Store, Write } from '../store.ts';

/** Opens a store to test; the test only uses keys under `prefix`. */
export type OpenStore = (limits?: StoreLimits) => Promise<{ readonly store: Store; readonly prefix: string }>;

/** Commits writes that must succeed and returns the revision. */
export async function committed(store: Store, ...writes: readonly Write[]): Promise<number> {
  const commit = await store.commit(writes);
  assert.ok(commit.ok, `conflict on ${commit.ok ? '' : commit.key}`);
  return commit.revision;
}

/** Prints entries as `a=1`, where `a` is the end of the key. */
export const texts = (entries: readonly Entry[]): string[] =>
  entries.map(({ key, value }) => `${key.slice(-1)}=${value}`);
