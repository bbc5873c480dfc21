import type { BackoffOptions, Clock, Random } from '../../client/clock.ts';
import { backoffMs, sleep } from '../../client/clock.ts';
import { yieldToEventLoop } from '../../machine/timers.ts';

export interface RunnerOptions {
  /** Never called concurrently. After a rejection it is called again with backoff. */
  readonly run: () => Promise<void>;
  /** The minimum time from the end of one run to the start of the next. */
  readonly minIntervalMs: number;
  /** Runs without a trigger after this time; `onIdle` is called before. */
  readonly maxIntervalMs: number;
  readonly onIdle: () => void;
  readonly onError: (error: unknown) => void;
  readonly clock: Clock;
  readonly random: Random;
}

const failureBackoff: BackoffOptions = { baseMs: 200, maxMs: 30_000 };

/**
 * Runs a function after triggers, with a minimum and a maximum interval:
 *
 *     trigger ─► (rest of the minimum interval) ─► run ─► triggered meanwhile? again
 *
 * The first trigger after a pause runs at once; triggers during a run or a wait are combined.
 */
export class BoundedRunner {
  readonly #options: RunnerOptions;
  #isTriggered = false;
  #wake = (): void => {};

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** Requests a run. */
  trigger(): void {
    this.#isTriggered = true;
    this.#wake();
  }

  /** Serves until the signal fires and a current run has ended. Never rejects. */
  async serve(signal: AbortSignal): Promise<void> {
    const { run, minIntervalMs, maxIntervalMs, onIdle, onError, clock, random } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      if (!this.#isTriggered && !(await this.#waitForTrigger(maxIntervalMs, signal))) {
        if (signal.aborted) return;
        onIdle();
      }
      // Includes changes of the same turn of the event loop.
      await yieldToEventLoop();
      this.#isTriggered = false;
      try {
        await run();
        failures = 0;
      } catch (error) {
        failures++;
        this.#isTriggered = true;
        onError(error);
      }
      await sleep(clock, failures === 0 ? minIntervalMs : backoffMs(failureBackoff, failures, random), signal);
    }
  }

  /** Waits for a trigger; false: none came in time. */
  #waitForTrigger(ms: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const done = (isTriggered: boolean) => (): void => {
        cancel();
        signal.removeEventListener('abort', stop);
        this.#wake = () => {};
        resolve(isTriggered);
      };
      const stop = done(false);
      const cancel = this.#options.clock.after(ms, done(false));
      this.#wake = done(true);
      signal.addEventListener('abort', stop, { once: true });
    });
  }
}
