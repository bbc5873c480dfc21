import type { Syncable } from '../client/controller.ts';
import type { WorkQueue } from '../client/queue.ts';

/** What a controller works through, and what it is told of. */
export interface Loop {
  readonly queue: WorkQueue;
  readonly caches: readonly Syncable[];
  /** Begins to listen, once the caches are complete; what it returns ends that. */
  readonly subscribe: () => readonly (() => void)[];
}

/** Works from when the caches are complete until the signal fires. What runs then is over when this resolves. */
export async function reconcileUntil(signal: AbortSignal, { queue, caches, subscribe }: Loop): Promise<void> {
  try {
    await Promise.all(caches.map((cache) => cache.synced(signal)));
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
  const stops = subscribe();
  try {
    await queue.run(signal);
  } finally {
    for (const stop of stops) stop();
  }
}
