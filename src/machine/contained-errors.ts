import type { UncaughtError } from './timers.ts';
import { uncaughtErrors } from './timers.ts';

/**
 * Reports uncaught errors of timers, event listeners and promises instead of ending the process, so that one request or
 * connection cannot end the service of all others. The interrupted work stays unfinished until its own timeout. Code that
 * must not continue after an error, such as the store, handles its errors itself. Worker threads do not use this: they
 * end, and their owner starts another one.
 */
export function containErrors(report: (uncaught: UncaughtError) => void): Disposable {
  // The channel is untyped; timers.ts publishes only this type.
  const onTimer = (message: unknown): void => report(message as UncaughtError);
  const onException = (error: unknown): void => report({ origin: 'exception', error });
  const onRejection = (error: unknown): void => report({ origin: 'rejection', error });
  uncaughtErrors.subscribe(onTimer);
  process.on('uncaughtException', onException).on('unhandledRejection', onRejection);
  return {
    [Symbol.dispose]() {
      uncaughtErrors.unsubscribe(onTimer);
      process.off('uncaughtException', onException).off('unhandledRejection', onRejection);
    },
  };
}
