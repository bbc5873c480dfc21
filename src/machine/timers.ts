import { channel } from 'node:diagnostics_channel';

/** Where errors are published that would otherwise end the process: see contained-errors.ts. */
export const uncaughtErrors = channel('fairlead:uncaught-error');

/** What is published there. */
export interface UncaughtError {
  readonly origin: 'timer' | 'exception' | 'rejection';
  readonly error: unknown;
}

// The global functions, for callbacks that may throw: an error that nobody catches ends a Node process. A process that
// subscribes to `uncaughtErrors` goes on; in any other, such as a test, the error is thrown as usual.

/** As the global function. */
export const setTimeout = (run: (_: void) => void, ms?: number): NodeJS.Timeout =>
  globalThis.setTimeout(contained(run), ms);

/** As the global function. The interval goes on when its callback has thrown. */
export const setInterval = (run: (_: void) => void, ms?: number): NodeJS.Timeout =>
  globalThis.setInterval(contained(run), ms);

/** As the global function. */
export const setImmediate = (run: (_: void) => void): NodeJS.Immediate => globalThis.setImmediate(contained(run));

/** Resolves in the next turn of the event loop, after pending I/O was processed. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void globalThis.setImmediate(resolve));

const contained = (run: () => void) => (): void => {
  try {
    run();
  } catch (error) {
    if (!uncaughtErrors.hasSubscribers) throw error;
    uncaughtErrors.publish({ origin: 'timer', error } satisfies UncaughtError);
  }
};
