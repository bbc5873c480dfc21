import type { BackoffOptions, Clock, Random } from '../../client/clock.ts';
import { backoffMs, sleep } from '../../client/clock.ts';
import { yieldToEventLoop } from '../../machine/timers.ts';

export interface RunnerOptions {
  /** What is run. Never twice at once. What it rejects with is reported, and it is run again after a wait. */
  readonly run: () => Promise<void>;
  /** The least time from the end of one run to the start of the next. */
  readonly minIntervalMs: number;
  /** Run after so long even if nobody asks; `onIdle` is called before. */
  readonly maxIntervalMs: number;
  readonly onIdle: () => void;
  readonly onError: (error: unknown) => void;
  readonly clock: Clock;
  readonly random: Random;
}

/** Waits after failures. */
const failureBackoff: BackoffOptions = { baseMs: 200, maxMs: 30_000 };

/**
 * Runs something when asked, not too often and not too rarely:
 *
 *     asked ─► (rest of the least interval) ─► run ─► asked meanwhile? again
 *
 * The first request after a rest is answered at once; however many come while it runs or waits are one.
 */
export class BoundedRunner {
  readonly #options: RunnerOptions;
  #isAsked = false;
  #wake = (): void => {};

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** Asks for a run. */
  ask(): void {
    this.#isAsked = true;
    this.#wake();
  }

  /** Runs until the signal fires, and to the end of what runs then. Never rejects. */
  async serve(signal: AbortSignal): Promise<void> {
    const { run, minIntervalMs, maxIntervalMs, onIdle, onError, clock, random } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      if (!this.#isAsked && !(await this.#asked(maxIntervalMs, signal))) {
        if (signal.aborted) return;
        onIdle();
      }
      // What came in the same turn belongs to this run.
      await yieldToEventLoop();
      this.#isAsked = false;
      try {
        await run();
        failures = 0;
      } catch (error) {
        failures++;
        this.#isAsked = true;
        onError(error);
      }
      await sleep(clock, failures === 0 ? minIntervalMs : backoffMs(failureBackoff, failures, random), signal);
    }
  }

  /** Whether somebody asks within a time. */
  #asked(ms: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const done = (isAsked: boolean) => (): void => {
        cancel();
        signal.removeEventListener('abort', stop);
        this.#wake = () => {};
        resolve(isAsked);
      };
      const stop = done(false);
      const cancel = this.#options.clock.after(ms, done(false));
      this.#wake = done(true);
      signal.addEventListener('abort', stop, { once: true });
    });
  }
}
