import { setImmediate } from '../../machine/timers.ts';
import { Joined } from './joined.ts';

/** Something that collects output and can send it in one go. */
export interface Flushable {
  /** Who it is for: those who have much to be sent wait for those who have little. */
  readonly flow: string;
  /** Sends, and says how many bytes. */
  flush(): number;
}

/** How much goes out before requests that have come meanwhile get their turn: an eighth of a millisecond's work or so. */
const turnBytes = 64 << 10;
/** How many times as much goes to a flow that has the server to itself. */
const aloneFactor = 8;
/** What every write costs besides its bytes. */
const writeBytes = 8 << 10;
/** What making a piece of a long answer costs. */
const pieceBytes = 128 << 10;

/**
 * Sends what watchers collected once per turn of the event loop, so that a burst of changes is one write a watcher. The
 * clients of many watches are served in turn, each flow one at a time, and over several turns if there is much to send.
 * It counts bytes, not time: most of the work of a write is done after the call that asks for it.
 */
export class Flusher {
  /** Makes one chunk of many lines, for all who send the same. */
  readonly joined = new Joined();
  /** flow → what waits to be sent, in order; the flow that is next comes first */
  readonly #waiting = new Map<string, Set<Flushable>>();
  readonly #isAlone: (flow: string) => boolean;
  #isScheduled = false;

  /** `isAlone`: whether a flow has the server to itself. */
  constructor(isAlone: (flow: string) => boolean = () => false) {
    this.#isAlone = isAlone;
  }

  schedule(item: Flushable): void {
    this.#waiting.getOrInsertComputed(item.flow, () => new Set()).add(item);
    this.#ask();
  }

  /** Resolves when it is the flow's turn to make a piece of a long answer. */
  turn(flow: string): Promise<void> {
    return new Promise((resolve) => {
      const flush = (): number => {
        resolve();
        return pieceBytes;
      };
      this.schedule({ flow, flush });
    });
  }

  #ask(): void {
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
      left -= this.#isAlone(item.flow) ? cost / aloneFactor : cost;
    }
    if (this.#waiting.size > 0) this.#ask();
  }

  /** The first item of the first flow, which then is the last. */
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
