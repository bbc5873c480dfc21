import type { Logger } from 'pino';
import type { Key } from './key.ts';
import type { WorkQueue } from './queue.ts';
import { hasStatusCode } from './transport.ts';
import { retryLevel } from './watch-errors.ts';

/** A cache that a controller reads, such as an Informer. */
export interface Syncable {
  synced(signal: AbortSignal): Promise<void>;
}

/** A reconciler: its queue, the caches that it reads, and its event handlers. */
export interface Controller {
  readonly queue: WorkQueue;
  readonly caches: readonly Syncable[];
  /** Subscribes to the caches after they have synced; returns functions that unsubscribe. */
  readonly subscribe?: () => readonly (() => void)[];
}

/**
 * Waits until all caches have synced, then reconciles until the signal fires and all workers have stopped. A cache that has
 * not synced would look as if its objects had been deleted. The caller runs the informers.
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
    // A conflict is expected: the retry starts from the newer object.
    const level = hasStatusCode(error, 409) ? 'debug' : retryLevel(error);
    log[level]({ controller, key, failures, err: error }, 'could not reconcile, retrying');
  };
