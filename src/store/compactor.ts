import { setTimeout as sleep } from 'node:timers/promises';

import type { Store } from './store.ts';

export interface CompactorOptions {
  readonly store: Pick<Store, 'revision' | 'compacted' | 'compact'>;
  /** Ends the loop. */
  readonly signal: AbortSignal;
  /** Compacted up to the revision of this long ago; default five minutes, as Kubernetes does. */
  readonly keepMs?: number;
  /** Never more revisions than about this, however new; default 10,000, which is some 15 MB of Services. */
  readonly maxRevisions?: number;
  /** How often to look; default one second, so that a burst of writes cannot outgrow memory. */
  readonly intervalMs?: number;
  /** Told when a compaction fails; it is tried again at the next look. */
  readonly onError?: (error: unknown) => void;
  readonly clock?: CompactorClock;
}

/** The time, passed in so that tests need not wait. */
export interface CompactorClock {
  /** Milliseconds that never go back. */
  now(): number;
  /** Rejects when the signal fires. */
  sleep(ms: number, signal: AbortSignal): Promise<unknown>;
}

const systemClock: CompactorClock = {
  now: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal, ref: false }),
};

/** What the store's revision was at some time. */
interface Mark {
  readonly at: number;
  readonly revision: number;
}

/** Bounds the history of a store by age and by number until the signal fires. An idle store is left alone. */
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
    // It rejects only because the signal has fired, which ends the loop.
    await clock.sleep(intervalMs, signal).catch(() => undefined);
  }
}

/** Decides when to compact to what. Compacting syncs the disk, so it is done in portions, not at every look. */
export class CompactionSchedule {
  readonly #keepMs: number;
  readonly #maxRevisions: number;
  /** Ascending, at most about twenty: one for each twentieth of the time to keep. */
  #marks: Mark[] = [];

  constructor({ keepMs = 5 * 60_000, maxRevisions = 10_000 }: Pick<CompactorOptions, 'keepMs' | 'maxRevisions'>) {
    this.#keepMs = keepMs;
    this.#maxRevisions = maxRevisions;
  }

  /** The revision to compact to now; undefined if there is not enough to forget. */
  next(now: number, { revision, compacted }: Pick<Store, 'revision' | 'compacted'>): number | undefined {
    const last = this.#marks.at(-1);
    if (last === undefined || now - last.at >= this.#keepMs / 20) this.#marks.push({ at: now, revision });
    const old = this.#marks.findLast(({ at }) => now - at >= this.#keepMs);
    if (old !== undefined) this.#marks = this.#marks.filter(({ at }) => at >= old.at);
    const isFull = revision - compacted > this.#maxRevisions * 1.1;
    const target = Math.max(old?.revision ?? 0, isFull ? revision - this.#maxRevisions : 0);
    return target > compacted ? target : undefined;
  }
}
