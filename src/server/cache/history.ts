import type { Item } from './item.ts';

/** One change of one object; `item` is undefined for a deletion. */
export interface CacheEvent {
  readonly revision: number;
  readonly key: string;
  readonly item: Item | undefined;
  readonly previous: Item | undefined;
  /** When it happened, in milliseconds. */
  readonly time: number;
  /** form → line, encoded once for all watches of that form; kept only while watchers are notified. */
  lines: Map<string, Buffer> | undefined;
}

export interface HistoryLimits {
  readonly maxEvents: number;
  /** Size of the superseded values that only the history holds. */
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

/** Past changes of one resource, from which watches resume. */
export class History {
  readonly #limits: HistoryLimits;
  #events: CacheEvent[] = [];
  /** Index of the first event that is kept; earlier ones are removed in blocks. */
  #start = 0;
  #bytes = 0;
  #floor: number;

  constructor(floor: number, limits: HistoryLimits) {
    this.#floor = floor;
    this.#limits = limits;
  }

  /** The history has every change after this revision. */
  get floor(): number {
    return this.#floor;
  }

  push(event: CacheEvent): void {
    this.#events.push(event);
    this.#bytes += heldBytes(event);
    this.#evict(event.time);
  }

  /** Drops all changes up to `revision`, because one of them cannot be delivered. */
  reset(revision: number): void {
    this.#events = [];
    this.#start = 0;
    this.#bytes = 0;
    this.#floor = revision;
  }

  /** The changes after `revision`, or undefined if some of them are no longer kept. */
  since(revision: number): readonly CacheEvent[] | undefined {
    if (revision < this.#floor) return undefined;
    let low = this.#start;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#events[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#events.slice(low);
  }

  #evict(now: number): void {
    const { maxEvents, maxBytes, maxAgeMs } = this.#limits;
    for (;;) {
      const oldest = this.#events[this.#start];
      if (oldest === undefined) break;
      const count = this.#events.length - this.#start;
      if (count <= maxEvents && this.#bytes <= maxBytes && now - oldest.time <= maxAgeMs) break;
      this.#start++;
      this.#bytes -= heldBytes(oldest);
      this.#floor = oldest.revision;
    }
    if (this.#start < 1024 || this.#start < this.#events.length / 2) return;
    this.#events = this.#events.slice(this.#start);
    this.#start = 0;
  }
}

const heldBytes = (event: CacheEvent): number => (event.previous?.entry.value.length ?? 0) + 200;
