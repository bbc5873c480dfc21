import type { Clock, Random } from '../../../client/clock.ts';
import { sleep } from '../../../client/clock.ts';

/** How a simulated cloud misbehaves. */
export interface FaultInjection {
  /** How long every call takes; default none. */
  readonly latencyMs?: number | undefined;
  /** The part of calls that fail, from 0 to 1; default none. */
  readonly failures?: number | undefined;
}

export interface CallsOptions extends FaultInjection {
  readonly cloud: string;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Calls to a simulated cloud. One that fails has failed before or after it did its work, as at a real cloud: who calls
 * cannot know which.
 */
export class Calls {
  readonly #options: CallsOptions;
  #count = 0;

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  /** How many were made. */
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
