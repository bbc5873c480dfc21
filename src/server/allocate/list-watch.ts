import { setTimeout as sleep } from 'node:timers/promises';

import type { Change, Entry, Store } from '../../store/store.ts';

/** The part of a store that is needed here. */
export type ListWatchSource = Pick<Store, 'range' | 'watch'>;

/** Keeps a copy of the keys under one prefix. */
export interface ListWatchHandler {
  readonly prefix: string;
  /** Receives all entries: first, and again whenever changes may have been missed. */
  replace(entries: readonly Entry[]): void;
  apply(changes: readonly Change[]): void;
}

const pageSize = 5_000;
const retryMs = 1_000;

/** Lists a prefix, then watches it until the signal fires. Resolves when the handler has the first list. */
export async function listAndWatch(
  store: ListWatchSource,
  handler: ListWatchHandler,
  signal: AbortSignal,
): Promise<void> {
  const { entries, revision } = await listAll(store, handler.prefix);
  handler.replace(entries);
  const observer = {
    onChanges: (changes: readonly Change[]): void => handler.apply(changes),
    onEnd: (): void => void relist(store, handler, signal), // never rejects
  };
  await store.watch(handler.prefix, revision, observer, signal);
}

/** Lists and watches again after the watch ended, since it fell behind compaction or the store was unavailable. */
async function relist(store: ListWatchSource, handler: ListWatchHandler, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await listAndWatch(store, handler, signal);
      return;
    } catch {
      // The store reports the reason itself. The timer does not keep the process running.
      await sleep(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}

async function listAll(
  store: ListWatchSource,
  prefix: string,
): Promise<{ entries: readonly Entry[]; revision: number }> {
  const first = await store.range(prefix, { limit: pageSize });
  const entries = [...first.entries];
  let { more } = first;
  while (more) {
    const from = `${entries.at(-1)?.key}\0`; // the next key
    const page = await store.range(prefix, { limit: pageSize, revision: first.revision, from });
    entries.push(...page.entries);
    more = page.more;
  }
  return { entries, revision: first.revision };
}
