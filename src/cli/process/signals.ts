/** The methods of `process` that `listenForStop` uses; tests pass an EventEmitter. */
export interface SignalSource {
  on(event: NodeJS.Signals, listener: () => void): unknown;
  off(event: NodeJS.Signals, listener: () => void): unknown;
}

/** The terminal sends Ctrl-C to this process and to npm, which forwards it: signals within this time are one key press. */
const keyPressMs = 300;
const numbers = { SIGINT: 2, SIGTERM: 15 } as const;

/** Stop signals: `requested` fires at the first one. */
export interface StopSignals extends Disposable {
  readonly requested: AbortSignal;
}

/**
 * Listens for SIGINT and SIGTERM. The first requests a drain; a later key press calls `exitNow` with the exit code that shells
 * expect.
 */
export function listenForStop(
  source: SignalSource,
  exitNow: (code: number) => void,
  now: () => number = () => performance.now(),
): StopSignals {
  const requested = new AbortController();
  let firstAt: number | undefined;
  const listeners = (['SIGINT', 'SIGTERM'] as const).map((signal) => {
    const listener = (): void => {
      if (firstAt === undefined) {
        firstAt = now();
        requested.abort();
      } else if (now() - firstAt > keyPressMs) {
        exitNow(128 + numbers[signal]);
      }
    };
    source.on(signal, listener);
    return () => source.off(signal, listener);
  });
  return {
    requested: requested.signal,
    [Symbol.dispose]: () => listeners.forEach((stop) => stop()),
  };
}
