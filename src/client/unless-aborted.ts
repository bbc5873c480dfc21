/** What a promise gives; rejects with the signal's reason when it fires before. Leaves no listener behind. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  signal.throwIfAborted();
  const stopped = Promise.withResolvers<never>();
  const stop = (): void => stopped.reject(signal.reason);
  signal.addEventListener('abort', stop);
  try {
    return await Promise.race([promise, stopped.promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
