import type { Clock } from '../../client/clock.ts';
import { afterPendingReads } from '../../client/clock.ts';

/** When an operation times out. */
export interface Deadline {
  readonly signal: AbortSignal;
  readonly ms: number;
  readonly clock: Clock;
}

/** Runs `work` with a signal that fires with `signal` or after `ms`. Leaves no timer and no listener behind. */
export async function withDeadline<T>(
  { signal, ms, clock }: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const own = new AbortController();
  const stop = (): void => own.abort(signal.reason);
  const cancel = afterPendingReads(clock, ms, () => own.abort(new Error(`no answer in ${ms} ms`)));
  signal.addEventListener('abort', stop);
  try {
    return await work(own.signal);
  } finally {
    cancel();
    signal.removeEventListener('abort', stop);
  }
}
