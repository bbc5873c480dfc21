/** A flow is active for this long after its last request. */
const activeMs = 250;

/**
 * The flows that sent requests recently. A flow may use the whole server while no other flow is active; otherwise each flow
 * leaves capacity for the others, so that a client with few requests is served as quickly as on an idle server.
 */
export class ActiveFlows {
  readonly #clock: () => number;
  #latest = { flow: '', at: -Infinity };
  /** The latest request of any flow other than `#latest`. */
  #previous = { flow: '', at: -Infinity };

  /** `clock` returns monotonic milliseconds. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  /** Records a request of the flow. */
  record(flow: string): void {
    if (flow !== this.#latest.flow) {
      const latest = this.#previous;
      this.#previous = this.#latest;
      this.#latest = latest;
      latest.flow = flow;
    }
    this.#latest.at = this.#clock();
  }

  /** Whether any other flow is active. */
  hasOtherFlows(flow: string): boolean {
    const other = this.#latest.flow === flow ? this.#previous : this.#latest;
    return this.#clock() - other.at <= activeMs;
  }
}
