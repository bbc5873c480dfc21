import type { Key } from './key.ts';
import type { PlannedEvent } from './event-series.ts';

/** Drops events that repeat the last ones of their key: a plan has them as long as their cause lasts. */
export class EventDeduplicator {
  /** Key → its last events. */
  readonly #last = new Map<Key, string>();

  /** The events, or none if they are the same as the last ones of the key. An empty list is not remembered. */
  fresh(key: Key, events: readonly PlannedEvent[]): readonly PlannedEvent[] {
    if (events.length === 0) return [];
    const text = JSON.stringify(events);
    if (this.#last.get(key) === text) return [];
    this.#last.set(key, text);
    return events;
  }

  forget(key: Key): void {
    this.#last.delete(key);
  }
}
