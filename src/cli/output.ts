import type { Settings } from './options/flags.ts';
import { textOf } from './options/flags.ts';

/** Where a command prints: results to `out`, errors and warnings to `err`. */
export interface Streams {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** Prints `value` in the format of `-o`, or `lines` for people. */
export async function rendered(settings: Settings, value: unknown, lines: () => readonly string[]): Promise<string> {
  const format = textOf(settings, 'output');
  if (format === 'json') return `${JSON.stringify(value, undefined, 2)}\n`;
  if (format === 'yaml') return (await import('js-yaml')).dump(value);
  return lines()
    .map((line) => `${line}\n`)
    .join('');
}

/** A duration for people. */
export const printTime = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);
