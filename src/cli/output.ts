import type { Command } from 'commander';
import { Option } from 'commander';

/** Where a command prints: results to `out`, errors to `err`. */
export interface Streams {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** For people, or for programs. */
export type OutputFormat = 'text' | 'json' | 'yaml';

/** The `-o` flag of commands that print something. */
export const outputFlag = (): Option =>
  new Option('-o, --output <FORMAT>', 'json or yaml, for programs').choices(['json', 'yaml']);

/** The format that `-o` asks for. */
export function readOutput(command: Command): OutputFormat {
  const { output } = command.opts<{ output?: 'json' | 'yaml' }>();
  return output ?? 'text';
}

/** `value` for programs, or `lines` for people, as text to print. */
export async function rendered(format: OutputFormat, value: unknown, lines: () => readonly string[]): Promise<string> {
  switch (format) {
    case 'text':
      return lines()
        .map((line) => `${line}\n`)
        .join('');
    case 'json':
      return `${JSON.stringify(value, undefined, 2)}\n`;
    case 'yaml': {
      const { dump } = await import('js-yaml');
      return dump(value);
    }
  }
}

/** Rows as columns that line up, two spaces apart; the last column is not padded. */
export function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, index) => (widths[index] = Math.max(widths[index] ?? 0, cell.length)));
  return rows.map((row) =>
    row
      .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** How long something took, as a person reads it. */
export const printTime = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);
