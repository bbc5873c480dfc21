import type { Clock, Random } from '../../../client/clock.ts';
import { sleep } from '../../../client/clock.ts';

/** Injected latency and failures of a simulated cloud. */
export interface FaultInjection {
  /** Latency of every call; default 0. */
  readonly latencyMs?: number | undefined;
  /** Fraction of failing calls, from 0 to 1; default 0. */
  readonly failures?: number | undefined;
}

export interface CallsOptions extends FaultInjection {
  readonly cloud: string;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Calls to a simulated cloud. As with a real cloud, a failed call may have been executed.
 */
export class Calls {
  readonly #options: CallsOptions;
  #count = 0;

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  /** The number of calls. */
  get count(): number {
    return this.#count;
  }

  async call<T>(what: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const { latencyMs = 0, failures = 0, clock, random } = this.#options;
    this.#count++;
    if (latencyMs > 0) await sleep(clock, latencyMs, signal);
    signal.throwIfAborted();
    const draw = random();
    if (draw < failures / 2) this.#fail(what);
    const result = await work();
    if (draw < failures) this.#fail(what);
    return result;
  }

  #fail(what: string): never {
    throw new Error(`${this.#options.cloud}: ${what}: the service is unavailable (simulated)`);
  }
}
