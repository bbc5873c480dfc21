import type { Item } from './item.ts';

/** One change of one object. `item` undefined: it was deleted. */
export interface CacheEvent {
  readonly revision: number;
  readonly key: string;
  readonly item: Item | undefined;
  readonly previous: Item | undefined;
  /** Milliseconds, to judge the age. */
  readonly time: number;
  /** Encoded once for all watchers that want the same form: form → line. Kept only while they are told. */
  lines: Map<string, Buffer> | undefined;
}

export interface HistoryLimits {
  readonly maxEvents: number;
  /** Superseded values that only history still holds. */
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

/** Past changes of one resource, from which a watch can resume. Each resource has its own window. */
export class History {
  readonly #limits: HistoryLimits;
  #events: CacheEvent[] = [];
  /** The first event still kept; those before are dropped in blocks. */
  #start = 0;
  #bytes = 0;
  #floor: number;

  constructor(floor: number, limits: HistoryLimits) {
    this.#floor = floor;
    this.#limits = limits;
  }

  /** Every change after this revision is here. */
  get floor(): number {
    return this.#floor;
  }

  push(event: CacheEvent): void {
    this.#events.push(event);
    this.#bytes += heldBytes(event);
    this.#evict(event.time);
  }

  /** Drops everything up to `revision`: one of the changes cannot be delivered. */
  forget(revision: number): void {
    this.#events = [];
    this.#start = 0;
    this.#bytes = 0;
    this.#floor = revision;
  }

  /** The changes after `revision`, or undefined when some have been forgotten. */
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
