import type { WorkQueue } from './queue.ts';

/** A cache that a controller reads, such as an Informer; others may read it too. */
export interface Syncable {
  synced(signal: AbortSignal): Promise<void>;
}

/**
 * Works through a queue once every cache is complete, until the signal fires. A cache that has not synced looks
 * like one whose objects are gone, so nothing is decided before. The informers are run by who made them.
 */
export async function runController(queue: WorkQueue, caches: readonly Syncable[], signal: AbortSignal): Promise<void> {
  try {
    await Promise.all(caches.map((cache) => cache.synced(signal)));
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
  await queue.run(signal);
}
