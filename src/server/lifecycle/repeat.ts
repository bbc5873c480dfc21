import { setInterval } from '../../machine/timers.ts';

/** Calls `work` in intervals, one call at a time. Errors are reported and do not end it. */
export function repeat(
  intervalMs: number,
  work: () => Promise<unknown> | void,
  onError: (error: unknown) => void,
): AsyncDisposable {
  let running: Promise<unknown> | undefined;
  const timer = setInterval(() => {
    running ??= Promise.resolve()
      .then(work)
      .catch(onError)
      .finally(() => (running = undefined));
  }, intervalMs);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await running;
    },
  };
}
