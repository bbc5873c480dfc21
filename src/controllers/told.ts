import type { Key } from '../client/key.ts';
import type { PlannedEvent } from './slices.ts';

/** What was last said about each key, so that what stays so is not said with every plan. */
export class Told {
  /** Key → the last thing said. */
  readonly #last = new Map<Key, string>();

  /** Those events that say something else than the last time. None at all leaves what was said standing. */
  news(key: Key, events: readonly PlannedEvent[]): readonly PlannedEvent[] {
    if (events.length === 0) return [];
    const said = JSON.stringify(events);
    if (this.#last.get(key) === said) return [];
    this.#last.set(key, said);
    return events;
  }

  forget(key: Key): void {
    this.#last.delete(key);
  }
}
