import { isMaster } from '../access/authorize.ts';
import type { Sender } from '../limits/classify.ts';
import { chargedUser, flowOf } from '../limits/classify.ts';
import type { LimitOptions } from '../limits/options.ts';

/**
 * The open streams between clients and nodes. A stream buffers little, since each side waits for the other, so that the
 * limit of their number limits their memory.
 */
export class OpenStreams {
  readonly #limits: Pick<LimitOptions, 'maxStreams' | 'maxStreamsPerUser'>;
  /** flow → its open streams */
  readonly #byFlow = new Map<string, number>();
  readonly #ends = new Set<() => void>();

  constructor(limits: Pick<LimitOptions, 'maxStreams' | 'maxStreamsPerUser'>) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#ends.size;
  }

  /**
   * Counts a stream until the returned function is called; undefined if the sender or all together have too many.
   * `end`: terminates the stream when the server shuts down.
   */
  open(sender: Sender, end: () => void): (() => void) | undefined {
    const flow = flowOf(sender);
    const count = this.#byFlow.get(flow) ?? 0;
    if (this.#ends.size >= this.#limits.maxStreams) return undefined;
    if (count >= this.#limits.maxStreamsPerUser && !isMaster(chargedUser(sender))) return undefined;
    this.#byFlow.set(flow, count + 1);
    this.#ends.add(end);
    return () => {
      if (!this.#ends.delete(end)) return;
      const left = (this.#byFlow.get(flow) ?? 1) - 1;
      if (left > 0) this.#byFlow.set(flow, left);
      else this.#byFlow.delete(flow);
    };
  }

  /** Terminates all streams. */
  endAll(): void {
    for (const end of this.#ends) end();
  }
}
