import type { Clock } from '../../client/clock.ts';
import { silenceMs } from '../../client/clock.ts';

interface Report {
  /** Changes with every report of the node. */
  readonly sign: string;
  /** When this process saw it, in monotonic time. */
  readonly seenAt: number;
}

/**
 * When each node last reported, by the clock of this process: clocks of other machines are not compared. After a start,
 * and after an interruption of the connection, each node has the whole grace period.
 */
export class NodeHealth {
  readonly #clock: Clock;
  /** node → its last report */
  readonly #reports = new Map<string, Report>();
  #interruptions = 0;
  #interruptedAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes the state of a node; a new sign is a report. */
  observe(node: string, sign: string): void {
    if (this.#reports.get(node)?.sign !== sign) this.#reports.set(node, { sign, seenAt: this.#clock.elapsed() });
  }

  /** Notes how often watches were interrupted: after a further time, reports may not have arrived until now. */
  noteInterruptions(count: number): void {
    if (count === this.#interruptions) return;
    this.#interruptions = count;
    this.#interruptedAt = this.#clock.elapsed();
  }

  /** How long a node has not reported, although its reports would have arrived. */
  silentMs(node: string): number {
    const { seenAt = this.#clock.elapsed() } = this.#reports.get(node) ?? {};
    return silenceMs(this.#clock, Math.max(seenAt, this.#interruptedAt));
  }

  delete(node: string): void {
    this.#reports.delete(node);
  }
}
