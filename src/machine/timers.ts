import { channel } from 'node:diagnostics_channel';

/** The channel of errors that would otherwise end the process: see contained-errors.ts. */
export const uncaughtErrors = channel('fairlead:uncaught-error');

/** A message on that channel. */
export interface UncaughtError {
  readonly origin: 'timer' | 'exception' | 'rejection';
  readonly error: unknown;
}

// The global functions, for callbacks that may throw: an uncaught error ends a Node process. A process that subscribes to
// `uncaughtErrors` continues; in any other, such as a test, the error is thrown as usual.

/** Like the global function. */
export const setTimeout = (run: (_: void) => void, ms?: number): NodeJS.Timeout =>
  globalThis.setTimeout(contained(run), ms);

/** Like the global function. The interval continues after its callback has thrown. */
export const setInterval = (run: (_: void) => void, ms?: number): NodeJS.Timeout =>
  globalThis.setInterval(contained(run), ms);

/** Like the global function. */
export const setImmediate = (run: (_: void) => void): NodeJS.Immediate => globalThis.setImmediate(contained(run));

/** Resolves in the next turn of the event loop, after pending I/O. */
export const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => void globalThis.setImmediate(resolve));

/** Runs work to its end; everything else in the process runs between its portions. */
export async function inPortions<T>(work: Generator<undefined, T>): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    await yieldToEventLoop();
  }
}

const contained = (run: () => void) => (): void => {
  try {
    run();
  } catch (error) {
    if (!uncaughtErrors.hasSubscribers) throw error;
    uncaughtErrors.publish({ origin: 'timer', error } satisfies UncaughtError);
  }
};
