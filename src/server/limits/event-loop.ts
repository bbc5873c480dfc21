import { setImmediate } from '../../machine/timers.ts';

let last: Promise<void> = Promise.resolve();

/**
 * Resolves in a turn of the event loop that no other caller gets. However many requests wait for theirs, the loop reads
 * and answers other requests after each.
 */
export function yieldToEventLoop(): Promise<void> {
  last = last.then(() => new Promise((resolve) => void setImmediate(resolve)));
  return last;
}
