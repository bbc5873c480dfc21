import type { Logger } from 'pino';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** A log on stderr, a line of JSON an entry. */
export async function createLog(level: LogLevel): Promise<Logger> {
  const { pino, destination } = await import('pino');
  // Written at once: the last line before an exit is the one that matters.
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination({ fd: 2, sync: true }));
}
