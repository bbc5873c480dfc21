import type { Clock } from '../../client/clock.ts';

/** By when something must be over. */
export interface Deadline {
  readonly signal: AbortSignal;
  readonly ms: number;
  readonly clock: Clock;
}

/** A timer that runs later than this was held up, and so was all that this process had to read. */
const lateMs = 100;

/** What has come meanwhile is read within this. */
const readMs = 100;

/**
 * Does something with a signal that fires when `signal` does, or after `ms`. A process that was held up itself reads
 * first what has come meanwhile: that is no silence of others. Many are made, so it leaves nothing behind: neither a
 * timer nor a listener.
 */
export async function withDeadline<T>(
  { signal, ms, clock }: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const own = new AbortController();
  const stop = (): void => own.abort(signal.reason);
  const expire = (): void => own.abort(new Error(`no answer in ${ms} ms`));
  const end = clock.elapsed() + ms;
  let cancel = clock.after(ms, () => {
    if (clock.elapsed() - end > lateMs) cancel = clock.after(readMs, expire);
    else expire();
  });
  signal.addEventListener('abort', stop);
  try {
    return await work(own.signal);
  } finally {
    cancel();
    signal.removeEventListener('abort', stop);
  }
}
