import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { descriptorLimit, descriptorsNeeded } from '../../machine/descriptors.ts';
import { containErrors } from '../../machine/contained-errors.ts';
import type { UncaughtError } from '../../machine/timers.ts';
import { collectedCounter } from '../../metrics/collected.ts';
import { commandEnded } from '../command-ended.ts';
import { FatalError } from '../errors.ts';
import type { LogLevel } from './log.ts';
import { createLog } from './log.ts';
import { LogOutput } from './log-output.ts';

/** What a command that runs until it is stopped needs of its process. */
export interface LongRunning extends Disposable {
  readonly log: Logger;
  /** Counts uncaught errors and dropped log lines of the process. */
  readonly metrics: Registry;
}

/**
 * Checks that there are descriptors enough for so many clusters, sets up the log, and keeps errors that nothing catches
 * and a log that nobody reads from ending the process.
 */
export async function longRunning(level: LogLevel, clusters = 1): Promise<LongRunning> {
  const limit = descriptorLimit();
  const needed = descriptorsNeeded(clusters);
  if (limit !== undefined && limit < needed) {
    throw new FatalError(
      `this process may have ${limit} files and connections open and needs ${needed}: raise the limit with \`ulimit -n\``,
    );
  }
  const output = new LogOutput();
  const log = await createLog(level, output);
  const uncaught: Record<UncaughtError['origin'], number> = { timer: 0, exception: 0, rejection: 0 };
  const contained = containErrors(({ origin, error }) => {
    uncaught[origin]++;
    log.error({ err: error, origin }, 'an error that nothing caught: the process goes on');
  });
  const metrics = new Registry();
  collectedCounter(metrics, 'fairlead_uncaught_errors_total', 'Errors that no handler caught, by origin.', () =>
    Object.entries(uncaught).map(([origin, count]) => [{ origin }, count]),
  );
  collectedCounter(
    metrics,
    'fairlead_log_dropped_lines_total',
    'Log lines that were dropped because their reader was closed or too slow, or the disk was full.',
    () => output.dropped,
  );
  return {
    log,
    metrics,
    [Symbol.dispose]() {
      contained[Symbol.dispose]();
      output.flush();
      commandEnded.publish(undefined);
    },
  };
}
