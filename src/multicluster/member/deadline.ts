import type { Clock } from '../../client/clock.ts';
import { afterPendingReads } from '../../client/clock.ts';

/** By when something must be over. */
export interface Deadline {
  readonly signal: AbortSignal;
  readonly ms: number;
  readonly clock: Clock;
}

/**
 * Does something with a signal that fires when `signal` does, or after `ms`. Many are made, so it leaves nothing behind:
 * neither a timer nor a listener.
 */
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
