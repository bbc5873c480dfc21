import { setTimeout as sleep } from 'node:timers/promises';

import type { Change, Entry, Store } from '../../store/store.ts';

/** What following needs of a store. */
export type Followed = Pick<Store, 'range' | 'watch'>;

/** Who keeps a copy of the keys under one prefix. */
export interface Follower {
  readonly prefix: string;
  /** Everything there is; called first, and again whenever changes may have been missed. */
  replace(entries: readonly Entry[]): void;
  apply(changes: readonly Change[]): void;
}

const pageSize = 5_000;
const retryMs = 1_000;

/** Keeps a follower in step with the store until the signal fires. Resolves when it has everything for the first time. */
export async function follow(store: Followed, follower: Follower, signal: AbortSignal): Promise<void> {
  const { entries, revision } = await listAll(store, follower.prefix);
  follower.replace(entries);
  const observer = {
    onChanges: (changes: readonly Change[]): void => follower.apply(changes),
    onEnd: (): void => void followAgain(store, follower, signal), // never rejects
  };
  await store.watch(follower.prefix, revision, observer, signal);
}

/** Starts over, until it works: the watch fell behind compaction, or the store was away. */
async function followAgain(store: Followed, follower: Follower, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await follow(store, follower, signal);
      return;
    } catch {
      // The store says itself why it is away. A process that has nothing else to do need not wait for it.
      await sleep(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}

async function listAll(store: Followed, prefix: string): Promise<{ entries: readonly Entry[]; revision: number }> {
  const first = await store.range(prefix, { limit: pageSize });
  const entries = [...first.entries];
  let { more } = first;
  while (more) {
    const from = `${entries.at(-1)?.key}\0`; // the next key in order
    const page = await store.range(prefix, { limit: pageSize, revision: first.revision, from });
    entries.push(...page.entries);
    more = page.more;
  }
  return { entries, revision: first.revision };
}
