import { setInterval, setTimeout } from '../machine/timers.ts';

/** Time, passed in so that tests do not wait. */
export interface Clock {
  /** Milliseconds since 1970, for what others read. */
  now(): number;
  /** Milliseconds that never jump, for how long something took. */
  elapsed(): number;
  /** Calls `run` once after `ms`, unless the returned function is called before. */
  after(ms: number, run: () => void): () => void;
  /**
   * The end of the last pause of this process, on the clock of `elapsed`; 0: there was none. A process that was stopped, or
   * whose machine was, has neither read nor seen anything meanwhile: see `silenceMs`.
   */
  resumedAt(): number;
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
  resumedAt: () => (pauses ??= new PauseDetector()).resumedAt(),
};

/** A process that ran nothing for this long was paused; less is what a busy one takes. */
export const shortestPauseMs = 2000;

/** How often a process checks that it runs. */
const beatMs = 500;

/** Detects that this process was paused: more time passed between two runs of its timer than work takes. */
class PauseDetector {
  #beatAt = performance.now();
  #resumedAt = 0;

  constructor() {
    setInterval(() => this.#beat(), beatMs).unref();
  }

  /** Right also in the first callback after a pause, whichever timer that is of. */
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

/** Begins with the first use: a command that waits for nobody needs no timer. */
let pauses: PauseDetector | undefined;

/**
 * How long nothing was heard of another, by a process that could hear it: after a pause of our own the whole time starts
 * again. Everything that judges others by the time since their last sign of life takes it from here.
 */
export const silenceMs = (clock: Clock, heardAt: number): number =>
  clock.elapsed() - Math.max(heardAt, clock.resumedAt());

/** What a timer of Node can count to; more would fire at once. */
const longestTimerMs = 2 ** 31 - 1;

/** A timer that runs later than this was held up, and so was all that this process had to read. */
const lateMs = 100;

/** What has come meanwhile is read within this. */
const readMs = 100;

/**
 * As `clock.after`, for those who act because something has not come. A process that was held up reads first what has come
 * meanwhile; one that was paused waits the whole time again, since the others may have been paused with it.
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

export interface WatchdogOptions {
  readonly clock: Clock;
  /** How long it may be quiet. */
  readonly longestMs: number;
  /** When something was last heard, on the clock that never jumps; undefined: nothing yet. */
  readonly heardAt: () => number | undefined;
}

/**
 * Calls `act` when nothing was heard for too long, counted from now at the earliest, and again as long as it says that it
 * did nothing. The result ends that.
 */
export function startWatchdog(
  { clock, longestMs, heardAt }: WatchdogOptions,
  act: () => 'done' | 'nothing',
): () => void {
  const started = clock.elapsed();
  let cancel = (): void => {};
  const look = (): void => {
    const leftMs = longestMs - silenceMs(clock, Math.max(started, heardAt() ?? started));
    // Whole milliseconds: what rounding leaves of one may be too little to move a clock at all.
    if (leftMs > 0) cancel = afterPendingReads(clock, Math.ceil(leftMs), look);
    else if (act() === 'nothing') cancel = afterPendingReads(clock, longestMs, look);
  };
  look();
  return () => cancel();
}
