/**
 * Does something with a signal that fires when `signal` does, or after `ms`. Many are made, so it leaves nothing behind:
 * neither a timer nor a listener.
 */
export async function withDeadline<T>(
  signal: AbortSignal,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const own = new AbortController();
  const stop = (): void => own.abort(signal.reason);
  const timer = setTimeout(() => own.abort(new Error(`no answer in ${ms} ms`)), ms);
  signal.addEventListener('abort', stop);
  try {
    return await work(own.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}
