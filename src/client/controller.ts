import type { Logger } from 'pino';
import type { Key } from './key.ts';
import type { WorkQueue } from './queue.ts';
import { hasStatusCode } from './transport.ts';
import { retryLevel } from './watch-errors.ts';

/** A cache that a controller reads, such as an Informer; others may read it too. */
export interface Syncable {
  synced(signal: AbortSignal): Promise<void>;
}

/** A running reconciler: its queue, the caches that it reads, and what enqueues keys. */
export interface Controller {
  readonly queue: WorkQueue;
  readonly caches: readonly Syncable[];
  /** Subscribes to the caches once they are complete; the functions it returns end that. */
  readonly subscribe?: () => readonly (() => void)[];
}

/**
 * Reconciles from when every cache is complete until the signal fires, and resolves when nothing runs any more. A cache that
 * has not synced looks like one whose objects are gone, so nothing is decided before. The informers are run elsewhere.
 */
export async function runController({ queue, caches, subscribe }: Controller, signal: AbortSignal): Promise<void> {
  try {
    await Promise.all(caches.map((cache) => cache.synced(signal)));
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
  const unsubscribe = subscribe?.() ?? [];
  try {
    await queue.run(signal);
  } finally {
    for (const end of unsubscribe) end();
  }
}

/** The `onError` of a queue: the queue retries, so this only logs. */
export const logRetry =
  (log: Pick<Logger, 'debug' | 'warn'>, controller: string) =>
  (error: unknown, key: Key, failures: number): void => {
    // Another client wrote first: the next plan starts from that.
    const level = hasStatusCode(error, 409) ? 'debug' : retryLevel(error);
    log[level]({ controller, key, failures, err: error }, 'could not reconcile, retrying');
  };
