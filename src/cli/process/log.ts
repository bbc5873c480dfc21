import type { Logger } from 'pino';
import { LogOutput } from './log-output.ts';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** A log on stderr, a line of JSON an entry. */
export async function createLog(level: LogLevel, output: LogOutput = new LogOutput()): Promise<Logger> {
  const { pino } = await import('pino');
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, output);
}
