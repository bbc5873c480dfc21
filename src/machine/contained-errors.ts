import type { UncaughtError } from './timers.ts';
import { uncaughtErrors } from './timers.ts';

/**
 * Keeps uncaught errors from ending the process: one from a timer, an event listener or a promise is passed to
 * `report`, and everything else continues: one request or connection must not end the service of all others. The cost is
 * that whatever the error interrupted stays unfinished until its own timeout; what must not go on after an error, such as
 * the store, catches its errors itself. A worker thread does not do this: it ends, and its owner starts another.
 */
export function containErrors(report: (uncaught: UncaughtError) => void): Disposable {
  // A cast at the edge: the channel is untyped, and timers.ts publishes nothing else.
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
