import { setInterval, setTimeout } from '../machine/timers.ts';

/** A source of time, injected so that tests do not wait. */
export interface Clock {
  /** Wall clock time in milliseconds since 1970, for timestamps and expiry dates. */
  now(): number;
  /** Monotonic time in milliseconds, for durations. */
  elapsed(): number;
  /** Calls `run` once after `ms`; the returned function cancels that. */
  after(ms: number, run: () => void): () => void;
  /**
   * The end of the last pause of this process in monotonic time; 0: there was none. A process that was paused, for example
   * with its VM, received nothing during the pause: see `silenceMs`.
   */
  resumedAt(): number;
}

/** Returns a number from 0 to 1, like `Math.random`. */
export type Random = () => number;

/** The clock of the system. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, Math.min(ms, maxTimerMs));
    return () => clearTimeout(timer);
  },
  resumedAt: () => (pauses ??= new PauseDetector()).resumedAt(),
};

/** A gap of at least this length counts as a pause; shorter ones happen in a busy process. */
export const shortestPauseMs = 2000;

/** The interval at which the detector checks for a gap. */
const beatMs = 500;

/** Detects pauses of this process by the time between two runs of its timer. */
class PauseDetector {
  #beatAt = performance.now();
  #resumedAt = 0;

  constructor() {
    setInterval(() => this.#beat(), beatMs).unref();
  }

  /** Also correct in the first callback after a pause, before the timer of the detector has run. */
  resumedAt(): number {
    this.#beat();
    return this.#resumedAt;
  }

  #beat(): void {
    const now = performance.now();
    if (now - this.#beatAt >= shortestPauseMs + beatMs) this.#resumedAt = now;
    this.#beatAt = now;
  }
}

/** Created on first use, so that short commands run without the timer. */
let pauses: PauseDetector | undefined;

/**
 * The time since the last activity of another process, not counting time before the last pause of this process. Use it for
 * every decision that a peer is unreachable: a paused process could not receive anything.
 */
export const silenceMs = (clock: Clock, lastActivityAt: number): number =>
  clock.elapsed() - Math.max(lastActivityAt, clock.resumedAt());

/** The longest delay of a Node timer; longer ones fire immediately. */
const maxTimerMs = 2 ** 31 - 1;

/** If a timer runs later than this, the event loop was blocked and input is pending. */
const lateMs = 100;

/** The time to read pending input. */
const readMs = 100;

/**
 * Like `clock.after`, for timeouts of messages from others. A process whose event loop was blocked first reads pending
 * input; one that was paused waits the whole time again, since its peers may have been paused too.
 */
export function afterPendingReads(clock: Clock, ms: number, run: () => void): () => void {
  const [startedAt, resumedAt] = [clock.elapsed(), clock.resumedAt()];
  let cancel = clock.after(ms, () => {
    if (clock.resumedAt() > resumedAt) cancel = afterPendingReads(clock, ms, run);
    else if (clock.elapsed() - startedAt - ms > lateMs) cancel = clock.after(readMs, run);
    else run();
  });
  return () => cancel();
}

/** Resolves after `ms` or when `signal` fires; the caller checks which. */
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

/** Exponential backoff. */
export interface BackoffOptions {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** The delay after consecutive failures: doubles with each up to `maxMs`, with jitter of one half. */
export function backoffMs({ baseMs, maxMs }: BackoffOptions, failures: number, random: Random): number {
  const whole = Math.min(maxMs, baseMs * 2 ** Math.min(failures - 1, 60));
  return whole / 2 + (whole / 2) * random();
}

export interface WatchdogOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Monotonic time of the last activity; undefined: none yet. */
  readonly lastActivityAt: () => number | undefined;
}

/**
 * Calls `onTimeout` when there was no activity for `timeoutMs`, counted from now at the earliest. If it returns `wait`, the
 * watchdog waits as long again. The returned function stops the watchdog.
 */
export function startWatchdog(
  { clock, timeoutMs, lastActivityAt }: WatchdogOptions,
  onTimeout: () => 'done' | 'wait',
): () => void {
  const started = clock.elapsed();
  let cancel = (): void => {};
  const check = (): void => {
    const leftMs = timeoutMs - silenceMs(clock, Math.max(started, lastActivityAt() ?? started));
    // Whole milliseconds: a fraction may be too small to advance the clock.
    if (leftMs > 0) cancel = afterPendingReads(clock, Math.ceil(leftMs), check);
    else if (onTimeout() === 'wait') cancel = afterPendingReads(clock, timeoutMs, check);
  };
  check();
  return () => cancel();
}
