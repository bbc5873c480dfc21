/** How long who has asked counts as being there. */
const hereMs = 250;

/**
 * Who is there. A flow that has the server to itself may use all of it; in company each leaves room for the others, so
 * that who asks seldom is answered as quickly as on an idle server.
 */
export class ActiveFlows {
  readonly #clock: () => number;
  #latest = { flow: '', at: -Infinity };
  /** The latest of another flow than the latest. */
  #before = { flow: '', at: -Infinity };

  /** `clock` is in milliseconds and never goes back. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  /** A flow has asked for something. */
  record(flow: string): void {
    if (flow !== this.#latest.flow) {
      const latest = this.#before;
      this.#before = this.#latest;
      this.#latest = latest;
      latest.flow = flow;
    }
    this.#latest.at = this.#clock();
  }

  /** Whether nobody but this flow has asked of late. */
  isAlone(flow: string): boolean {
    const other = this.#latest.flow === flow ? this.#before : this.#latest;
    return this.#clock() - other.at > hereMs;
  }
}
