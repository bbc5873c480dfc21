import type { Clock } from '../../client/clock.ts';
import type { Key } from '../../client/key.ts';
import type { WorkQueue } from '../../client/queue.ts';

/**
 * Gathers what follows closely: the first change of a service goes at once, those that come within the window after it
 * are written together when it ends.
 */
export class Pace {
  readonly #queue: WorkQueue;
  readonly #windowMs: number;
  readonly #clock: Clock;
  /** Key → when it was last worked on, oldest first; none is older than the window for long. */
  readonly #last = new Map<Key, number>();

  constructor(queue: WorkQueue, windowMs: number, clock: Clock) {
    this.#queue = queue;
    this.#windowMs = windowMs;
    this.#clock = clock;
  }

  /** Puts a key to work, now or when its window ends. */
  touch(key: Key): void {
    const now = this.#clock.elapsed();
    for (const [old, at] of this.#last) {
      if (now - at < this.#windowMs) break;
      this.#last.delete(old);
    }
    const at = this.#last.get(key);
    if (at === undefined) this.#queue.add(key);
    else this.#queue.addAfter(key, at + this.#windowMs - now);
  }

  /** The queue begins to work on a key, which opens its window. */
  began(key: Key): void {
    this.#last.delete(key);
    this.#last.set(key, this.#clock.elapsed());
  }
}
