import type { Result } from './api.bench.ts';

const number = (value: number): string => (value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(1));

/** A result as the text of a cell. */
export const show = ({ value, unit, cpuMicros }: Result): string =>
  `${number(value)} ${unit}${cpuMicros === undefined ? '' : ` (${number(cpuMicros)} µs CPU)`}`.trim();

/** The factor by which ours is better; higher is better only for rates. Zero has no factor. */
function better(mine: Result, theirs: Result): string {
  const factor = mine.unit === '/s' ? mine.value / theirs.value : theirs.value / mine.value;
  return Number.isFinite(factor) ? `${number(factor)}×` : '';
}

/** A Markdown table of results, with a peer if it was measured. */
export function comparison(
  ours: readonly Result[],
  peer: readonly Result[] | undefined,
  { peerName, name = 'Fairlead' }: { readonly peerName: string; readonly name?: string },
): string {
  const lines = [`| | ${name} | ${peerName} | ratio |`, '|---|---|---|---|'];
  for (const result of ours) {
    const other = peer?.find(({ name }) => name === result.name);
    const [beside, ratio] = other === undefined ? ['', ''] : [show(other), better(result, other)];
    lines.push(`| ${result.name} | ${show(result)} | ${beside} | ${ratio} |`);
  }
  const missing = peer === undefined ? `\n\n${peerName} is not installed: no peer was measured.` : '';
  return lines.join('\n') + missing;
}

/** A Markdown table of results without a peer. */
export const figures = (results: readonly Result[]): string =>
  ['| | |', '|---|---|', ...results.map((result) => `| ${result.name} | ${show(result)} |`)].join('\n');

/** A Markdown table with these columns. */
export const table = (columns: readonly string[], rows: readonly (readonly (string | number)[])[]): string =>
  [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
