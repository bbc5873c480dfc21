/** What `listenForStop` needs of the process; a test gives an EventEmitter. */
export interface SignalSource {
  on(event: NodeJS.Signals, listener: () => void): unknown;
  off(event: NodeJS.Signals, listener: () => void): unknown;
}

/** A Ctrl-C reaches us from the terminal and again from npm, which forwards it: that is one wish, not two. */
const sameWishMs = 300;
const numbers = { SIGINT: 2, SIGTERM: 15 } as const;

/** Stop signals: `requested` fires at the first one. */
export interface StopSignals extends Disposable {
  readonly requested: AbortSignal;
}

/**
 * Listens for SIGINT and SIGTERM. The first asks to drain; another, later than what one key press can cause, calls
 * `exitNow` with the exit code a shell expects.
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
      } else if (now() - firstAt > sameWishMs) {
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
