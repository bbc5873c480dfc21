import { setTimeout } from '../machine/timers.ts';

/** Time, passed in so that tests do not wait. */
export interface Clock {
  /** Milliseconds since 1970, for what others read. */
  now(): number;
  /** Milliseconds that never jump, for how long something took. */
  elapsed(): number;
  /** Calls `run` once after `ms`, unless the returned function is called before. */
  after(ms: number, run: () => void): () => void;
}

/** A number from 0 up to 1, as `Math.random`. */
export type Random = () => number;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, Math.min(ms, longestTimerMs));
    return () => clearTimeout(timer);
  },
};

/** What a timer of Node can count to; more would fire at once. */
const longestTimerMs = 2 ** 31 - 1;

/** A timer that runs later than this was held up, and so was all that this process had to read. */
const lateMs = 100;

/** What has come meanwhile is read within this. */
const readMs = 100;

/**
 * As `clock.after`, for those who act because something has not come: a process that was held up itself reads first what
 * has come meanwhile, since that is no silence of others.
 */
export function afterReading(clock: Clock, ms: number, run: () => void): () => void {
  const due = clock.elapsed() + ms;
  let cancel = clock.after(ms, () => {
    if (clock.elapsed() - due > lateMs) cancel = clock.after(readMs, run);
    else run();
  });
  return () => cancel();
}

/** Resolves after `ms`, or as soon as `signal` fires: look at the signal afterwards. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = (): void => {
      cancel();
      resolve();
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', stop);
      resolve();
    });
    signal.addEventListener('abort', stop, { once: true });
  });
}

/** How long to wait after failures in a row. */
export interface BackoffOptions {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** The wait after `failures` in a row: doubled by each, spread over a half to the whole, never above the ceiling. */
export function backoffMs({ baseMs, maxMs }: BackoffOptions, failures: number, random: Random): number {
  const whole = Math.min(maxMs, baseMs * 2 ** Math.min(failures - 1, 60));
  return whole / 2 + (whole / 2) * random();
}
