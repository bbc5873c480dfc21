import type { Key } from './key.ts';

/** An event to record about an object. */
export interface PlannedEvent {
  readonly type: 'Normal' | 'Warning';
  /** Why, in one CamelCase word. */
  readonly reason: string;
  /** What happened and what a person can do about it. */
  readonly message: string;
}

/** The same thing happening again and again: one Event with a count. */
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

/** When something happened: on the clock that people read, and on the one that never jumps. */
interface Moment {
  readonly nowMs: number;
  readonly elapsedMs: number;
}

interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

/** What is remembered, and so how much memory it takes. */
const remembered = 4096;
/** So many messages of one kind are told apart; more become one. */
const distinctMessages = 10;
const groupMs = 10 * 60_000;
/** Events that one object may have at once, and how long it takes to earn another. */
const burst = 25;
const refillMs = 5 * 60_000;

/**
 * Turns what happens into few Events, with the limits of Kubernetes' own controllers: what repeats is counted, what
 * differs only by message is combined after a while, and an object that never stops is left unreported.
 */
export class EventCorrelator {
  readonly #series = new Map<string, Series>();
  readonly #groups = new Map<string, Group>();
  readonly #buckets = new Map<string, Bucket>();

  /** The series that a happening belongs to, counted; undefined: too much happens to this object. */
  correlate(
    object: string,
    happening: PlannedEvent,
    { nowMs, elapsedMs }: Moment,
  ): { readonly key: string; readonly series: Series } | undefined {
    if (!this.#mayReport(object, elapsedMs)) return undefined;
    const { type, reason } = happening;
    const group = JSON.stringify([object, type, reason]);
    const isCombined = this.#isCombined(group, happening.message, elapsedMs);
    const message = isCombined ? `(combined from similar events): ${happening.message}` : happening.message;
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
    remember(this.#series, key, series);
    return { key, series };
  }

  #isCombined(key: string, message: string, atMs: number): boolean {
    const before = this.#groups.get(key);
    const isFresh = before !== undefined && atMs - before.lastMs <= groupMs;
    const messages = new Set(isFresh ? before.messages : []);
    // One more than are told apart says that there are too many; the rest need not be kept.
    if (messages.size <= distinctMessages) messages.add(message);
    remember(this.#groups, key, { messages, lastMs: atMs });
    return messages.size > distinctMessages;
  }

  #mayReport(object: string, elapsedMs: number): boolean {
    const { tokens, atMs } = this.#buckets.get(object) ?? { tokens: burst, atMs: elapsedMs };
    const earned = Math.min(burst, tokens + (elapsedMs - atMs) / refillMs);
    const isAllowed = earned >= 1;
    remember(this.#buckets, object, { tokens: isAllowed ? earned - 1 : earned, atMs: elapsedMs });
    return isAllowed;
  }
}

/** Sets an entry as the youngest, and forgets the eldest when there are too many. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= remembered) return;
  for (const eldest of map.keys()) {
    map.delete(eldest);
    return;
  }
}

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

  delete(key: Key): void {
    this.#last.delete(key);
  }
}
