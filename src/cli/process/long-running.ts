import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { descriptorLimit, descriptorsNeeded } from '../../machine/descriptors.ts';
import { containErrors } from '../../machine/contained-errors.ts';
import type { UncaughtError } from '../../machine/timers.ts';
import { collectedCounter } from '../../metrics/collected.ts';
import { FatalError } from '../errors.ts';
import { commandEnded } from '../program.ts';
import type { LogOptions } from './log.ts';
import { openLog } from './log.ts';

/** The log and the metrics of a process that runs until it is stopped. */
export interface LongRunning extends Disposable {
  readonly log: Logger;
  /** Counts uncaught errors and dropped log lines of the process. */
  readonly metrics: Registry;
}

/**
 * Opens the log, checks the limit of file descriptors for this number of clusters, and keeps the process running after
 * errors that no handler catches and without a reader of the log.
 */
export async function longRunning(options: LogOptions, clusters = 1): Promise<LongRunning> {
  const limit = descriptorLimit();
  const needed = descriptorsNeeded(clusters);
  if (limit !== undefined && limit < needed) {
    throw new FatalError(
      `the process may open ${limit} files and connections and needs ${needed}: raise the limit with \`ulimit -n\``,
    );
  }
  const { log, dropped, ...opened } = await openLog(options);
  const uncaught: Record<UncaughtError['origin'], number> = { timer: 0, exception: 0, rejection: 0 };
  const contained = containErrors(({ origin, error }) => {
    uncaught[origin]++;
    log.error({ err: error, origin, at: placeOf(error) }, 'uncaught error');
  });
  const metrics = new Registry();
  collectedCounter(metrics, 'fairlead_uncaught_errors_total', 'Errors that no handler caught, by origin.', () =>
    Object.entries(uncaught).map(([origin, count]) => [{ origin }, count]),
  );
  collectedCounter(
    metrics,
    'fairlead_log_dropped_lines_total',
    'Log lines that were dropped because their reader was closed or too slow, or the disk was full.',
    dropped,
  );
  return {
    log,
    metrics,
    [Symbol.dispose]() {
      contained[Symbol.dispose]();
      opened[Symbol.dispose]();
      commandEnded.publish(undefined);
    },
  };
}

/** The line of code that threw, since stack traces are logged at debug only. */
const placeOf = (error: unknown): string | undefined =>
  error instanceof Error ? /\n {4}at (.+)/.exec(error.stack ?? '')?.[1] : undefined;
