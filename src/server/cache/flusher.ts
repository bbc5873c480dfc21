import { setImmediate } from '../../machine/timers.ts';
import { getOrCompute } from '../../api/maps.ts';

/** A source of output that the flusher sends. */
export interface Flushable {
  /** The flow it belongs to: flows with little output do not wait for flows with much. */
  readonly flow: string;
  /** Sends what is pending and returns the number of bytes. */
  flush(): number;
}

/** Bytes sent in one turn before waiting requests are handled: about an eighth of a millisecond of work. */
const turnBytes = 64 << 10;
/** How many times as much is sent to the only active flow. */
const exclusiveFactor = 8;
/** The cost of a write in addition to its bytes. */
const writeBytes = 8 << 10;
/** The cost of encoding one piece of a long reply. */
const pieceBytes = 128 << 10;

/**
 * Sends what watches have collected once per turn of the event loop, so that a burst of changes is one write per watch.
 * Serves flows round-robin and spreads much output over several turns. It counts bytes, not time, since most of the work
 * of a write happens after the call that starts it.
 */
export class Flusher {
  /** Shared by all watches. */
  readonly lines = new LineJoiner();
  /** flow → its pending output, in order; the flow that is served next comes first */
  readonly #waiting = new Map<string, Set<Flushable>>();
  readonly #hasOtherFlows: (flow: string) => boolean;
  #isScheduled = false;

  constructor(hasOtherFlows: (flow: string) => boolean = () => true) {
    this.#hasOtherFlows = hasOtherFlows;
  }

  schedule(item: Flushable): void {
    getOrCompute(this.#waiting, item.flow, () => new Set()).add(item);
    this.#scheduleFlush();
  }

  /** Resolves when the flow may encode the next piece of a long reply. */
  turn(flow: string): Promise<void> {
    return new Promise((resolve) => {
      const flush = (): number => {
        resolve();
        return pieceBytes;
      };
      this.schedule({ flow, flush });
    });
  }

  #scheduleFlush(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#flushSome());
  }

  #flushSome(): void {
    this.#isScheduled = false;
    for (let left = turnBytes; left > 0;) {
      const item = this.#takeNext();
      if (item === undefined) return;
      const cost = writeBytes + item.flush();
      left -= this.#hasOtherFlows(item.flow) ? cost : cost / exclusiveFactor;
    }
    if (this.#waiting.size > 0) this.#scheduleFlush();
  }

  /** Takes an item of the first flow and moves the flow to the end. */
  #takeNext(): Flushable | undefined {
    for (const [flow, items] of this.#waiting) {
      const [item] = items;
      if (item !== undefined) items.delete(item);
      if (items.size === 0 || this.#waiting.size > 1) this.#waiting.delete(flow);
      if (items.size > 0) this.#waiting.set(flow, items);
      if (item !== undefined) return item;
    }
    return undefined;
  }
}

/**
 * Joins lines into chunks and keeps the last chunk: watches of the same resource mostly send the same lines, and a separate
 * chunk for each of hundreds of watches would load the garbage collector.
 */
export class LineJoiner {
  #lines: readonly Buffer[] = [];
  #chunk: Buffer = Buffer.alloc(0);

  join(lines: readonly Buffer[]): Buffer {
    const [only] = lines;
    if (only !== undefined && lines.length === 1) return only;
    if (!isSame(lines, this.#lines)) {
      this.#chunk = Buffer.concat(lines);
      this.#lines = lines;
    }
    return this.#chunk;
  }
}

const isSame = (one: readonly Buffer[], other: readonly Buffer[]): boolean =>
  one.length === other.length && one.every((line, index) => line === other[index]);
