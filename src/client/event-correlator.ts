import type { Key } from './key.ts';

/** An event to record about an object. */
export interface PlannedEvent {
  readonly type: 'Normal' | 'Warning';
  /** Why, in one CamelCase word. */
  readonly reason: string;
  /** The event and, if possible, the fix. */
  readonly message: string;
}

/** A repeated event, written as one Event with a count. */
export interface Series {
  readonly type: PlannedEvent['type'];
  readonly reason: string;
  readonly message: string;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly count: number;
}

interface Group {
  readonly messages: ReadonlySet<string>;
  readonly lastMs: number;
}

/** The time of an event on the wall clock and on the monotonic clock. */
interface Moment {
  readonly nowMs: number;
  readonly elapsedMs: number;
}

interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

/** The bound of each map. */
const maxEntries = 4096;
/** Distinct messages with the same reason; further ones are combined. */
const maxDistinctMessages = 10;
const groupMs = 10 * 60_000;
/** Token bucket per object: its size, and the time to refill one token. */
const burst = 25;
const refillMs = 5 * 60_000;

/**
 * Reduces the number of Events, with the limits of client-go's EventCorrelator: identical events are counted, events that
 * differ only in their message are combined after a while, and events of one object are rate limited.
 */
export class EventCorrelator {
  readonly #series = new Map<string, Series>();
  readonly #groups = new Map<string, Group>();
  readonly #buckets = new Map<string, Bucket>();

  /** The series of an event, with its new count; undefined if the object is over its rate limit. */
  correlate(
    object: string,
    event: PlannedEvent,
    { nowMs, elapsedMs }: Moment,
  ): { readonly key: string; readonly series: Series } | undefined {
    if (!this.#mayReport(object, elapsedMs)) return undefined;
    const { type, reason } = event;
    const group = JSON.stringify([object, type, reason]);
    const isCombined = this.#isCombined(group, event.message, elapsedMs);
    const message = isCombined ? `(combined from similar events): ${event.message}` : event.message;
    const key = isCombined ? group : JSON.stringify([group, message]);
    const before = this.#series.get(key);
    const series: Series = {
      type,
      reason,
      message,
      firstMs: before?.firstMs ?? nowMs,
      lastMs: nowMs,
      count: (before?.count ?? 0) + 1,
    };
    setBounded(this.#series, key, series);
    return { key, series };
  }

  #isCombined(key: string, message: string, atMs: number): boolean {
    const before = this.#groups.get(key);
    const isFresh = before !== undefined && atMs - before.lastMs <= groupMs;
    const messages = new Set(isFresh ? before.messages : []);
    // One message above the limit is enough to detect that it is exceeded.
    if (messages.size <= maxDistinctMessages) messages.add(message);
    setBounded(this.#groups, key, { messages, lastMs: atMs });
    return messages.size > maxDistinctMessages;
  }

  #mayReport(object: string, elapsedMs: number): boolean {
    const { tokens, atMs } = this.#buckets.get(object) ?? { tokens: burst, atMs: elapsedMs };
    const earned = Math.min(burst, tokens + (elapsedMs - atMs) / refillMs);
    const isAllowed = earned >= 1;
    setBounded(this.#buckets, object, { tokens: isAllowed ? earned - 1 : earned, atMs: elapsedMs });
    return isAllowed;
  }
}

/** Sets an entry and evicts the least recently set one if there are too many. */
function setBounded<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= maxEntries) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

/** Drops events that equal the last ones of their key: every plan repeats them while their cause lasts. */
export class EventDeduplicator {
  /** Key → its last events. */
  readonly #last = new Map<Key, string>();

  /** The events, or none if they equal the last ones of the key. An empty list does not replace the last ones. */
  fresh(key: Key, events: readonly PlannedEvent[]): readonly PlannedEvent[] {
    if (events.length === 0) return [];
    const text = JSON.stringify(events);
    if (this.#last.get(key) === text) return [];
    this.#last.set(key, text);
    return events;
  }

  delete(key: Key): void {
    this.#last.delete(key);
  }
}
