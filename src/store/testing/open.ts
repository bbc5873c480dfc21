import assert from 'node:assert/strict';

import type { StoreLimits } from '../limits.ts';
import type { Entry, Store, Write } from '../store.ts';

/** Opens a store to test; what is not under `prefix` is none of the test's business. */
export type OpenStore = (limits?: StoreLimits) => Promise<{ readonly store: Store; readonly prefix: string }>;

/** Commits writes that must go through, and gives the revision. */
export async function committed(store: Store, ...writes: readonly Write[]): Promise<number> {
  const commit = await store.commit(writes);
  assert.ok(commit.ok, `conflict on ${commit.ok ? '' : commit.key}`);
  return commit.revision;
}

/** Entries as `a=1`, where `a` is the end of the key. */
export const texts = (entries: readonly Entry[]): string[] =>
  entries.map(({ key, value }) => `${key.slice(-1)}=${value}`);
