import type { Logger } from 'pino';
import type { Flag, Settings } from '../options/flags.ts';
import { grouped, readFlag } from '../options/flags.ts';
import { oneOf } from '../options/values.ts';
import { LogDeduplicator } from './log-deduplicator.ts';
import { LogOutput } from './log-output.ts';
import { printLogLine } from './log-text.ts';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

const logFormats = ['text', 'json'] as const;

export interface LogOptions {
  readonly level: LogLevel;
  /** `text` for people, `json` for programs. */
  readonly format: (typeof logFormats)[number];
}

export const logFlags = (level: LogLevel): readonly Flag[] =>
  grouped('Logging', [
    {
      name: 'log-level',
      value: 'LEVEL',
      description: 'minimum level of messages to log',
      choices: logLevels,
      default: level,
    },
    {
      name: 'log-format',
      value: 'FORMAT',
      description: 'format of the log on stderr',
      choices: logFormats,
      default: 'text on a terminal, json elsewhere',
    },
  ]);

/** `level` is the default of the command. */
export const readLogOptions = (settings: Settings, level: LogLevel): LogOptions => ({
  level: readFlag(settings, 'log-level', oneOf(logLevels), level),
  format: readFlag(settings, 'log-format', oneOf(logFormats), process.stderr.isTTY ? 'text' : 'json'),
});

/** A log that must be disposed, which writes what is still counted or waits for its reader. */
export interface Log extends Disposable {
  readonly log: Logger;
  /** Lines that were dropped because their reader was closed or too slow. */
  readonly dropped: () => number;
}

/** A log on stderr. Repetitions of a warning or an error are counted; stack traces are logged at debug only. */
export async function openLog({ level, format }: LogOptions, output: LogOutput = new LogOutput()): Promise<Log> {
  const { pino } = await import('pino');
  const hasColors = format === 'text' && process.stderr.isTTY && process.stderr.hasColors();
  const lines = new LogDeduplicator((line) => output.write(format === 'text' ? printLogLine(line, hasColors) : line));
  const hasStacks = level === 'debug' || level === 'trace';
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: hasStacks ? pino.stdSerializers.err : withoutStack },
    },
    lines,
  );
  return {
    log,
    dropped: () => output.dropped,
    [Symbol.dispose]() {
      lines.flush();
      output.flush();
    },
  };
}

/** An error with its code and the messages of its causes. */
function withoutStack(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const messages: string[] = [];
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    if (!messages.some((message) => message.includes(at.message))) messages.push(at.message);
  }
  return {
    type: error.name,
    message: messages.join(': '),
    ...('code' in error && typeof error.code === 'string' ? { code: error.code } : {}),
  };
}
