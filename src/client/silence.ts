import type { Clock } from './clock.ts';
import { afterReading, silenceMs } from './clock.ts';

export interface SilenceOptions {
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
export function whenSilent({ clock, longestMs, heardAt }: SilenceOptions, act: () => 'done' | 'nothing'): () => void {
  const started = clock.elapsed();
  let cancel = (): void => {};
  const look = (): void => {
    const leftMs = longestMs - silenceMs(clock, Math.max(started, heardAt() ?? started));
    // Whole milliseconds: what rounding leaves of one may be too little to move a clock at all.
    if (leftMs > 0) cancel = afterReading(clock, Math.ceil(leftMs), look);
    else if (act() === 'nothing') cancel = afterReading(clock, longestMs, look);
  };
  look();
  return () => cancel();
}
