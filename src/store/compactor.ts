import { setTimeout as sleep } from 'node:timers/promises';

import type { Store } from './store.ts';

export interface CompactorOptions {
  readonly store: Pick<Store, 'revision' | 'compacted' | 'revisionBefore' | 'compact'>;
  /** Ends the loop. */
  readonly signal: AbortSignal;
  /** The age of history to keep; default five minutes, as in Kubernetes. */
  readonly keepMs?: number;
  /** The approximate maximum number of commits; default 10,000, about 15 MB of Services. */
  readonly maxRevisions?: number;
  /** The check interval; default one second, so that a burst of writes cannot exhaust memory. */
  readonly intervalMs?: number;
  /** Called when a compaction fails; the next check retries. */
  readonly onError?: (error: unknown) => void;
  readonly clock?: CompactorClock;
}

export interface CompactorClock {
  /** Monotonic milliseconds. */
  now(): number;
  /** Rejects when the signal fires. */
  sleep(ms: number, signal: AbortSignal): Promise<unknown>;
}

const systemClock: CompactorClock = {
  now: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal, ref: false }),
};

/** The revision of the store at some time. */
interface RevisionSample {
  readonly at: number;
  readonly revision: number;
}

/** Limits the history of a store by age and number of revisions until the signal fires. Idle stores are not compacted. */
export async function runCompactor(options: CompactorOptions): Promise<void> {
  const { store, signal, intervalMs = 1000, clock = systemClock, onError } = options;
  const schedule = new CompactionSchedule(options);
  while (!signal.aborted) {
    try {
      const revision = schedule.next(clock.now(), store);
      if (revision !== undefined) await store.compact(revision);
    } catch (error) {
      if (!signal.aborted) onError?.(error);
    }
    // Rejects only if the signal has fired.
    await clock.sleep(intervalMs, signal).catch(() => undefined);
  }
}

/** Decides when to compact to which revision. Compaction syncs the disk, so it runs in portions. */
export class CompactionSchedule {
  readonly #keepMs: number;
  readonly #maxRevisions: number;
  /** Ascending: about one per twentieth of the time to keep. */
  #samples: RevisionSample[] = [];

  constructor({ keepMs = 5 * 60_000, maxRevisions = 10_000 }: Pick<CompactorOptions, 'keepMs' | 'maxRevisions'>) {
    this.#keepMs = keepMs;
    this.#maxRevisions = maxRevisions;
  }

  /** The revision to compact to; undefined if there is too little to drop. */
  next(now: number, store: Pick<Store, 'revision' | 'compacted' | 'revisionBefore'>): number | undefined {
    const { revision, compacted } = store;
    const last = this.#samples.at(-1);
    if (last === undefined || now - last.at >= this.#keepMs / 20) this.#samples.push({ at: now, revision });
    const old = this.#samples.findLast(({ at }) => now - at >= this.#keepMs);
    if (old !== undefined) this.#samples = this.#samples.filter(({ at }) => at >= old.at);
    const isFull = store.revisionBefore(Math.floor(this.#maxRevisions * 1.1)) > compacted;
    const target = Math.max(old?.revision ?? 0, isFull ? store.revisionBefore(this.#maxRevisions) : 0);
    return target > compacted ? target : undefined;
  }
}
