// Conflicts in words: field, values, clusters, who wins and what ends it (MCS-137).
import type { Conflict } from './conflict.ts';
import { canonicalText } from './canonical.ts';

/** A condition's message has a limit of 32768 characters. */
const maxLength = 30_000;

/** One conflict in a sentence. */
export function conflictText({ field, rule, values, winner, fix }: Conflict): string {
  return `${field}: ${valuesText(values)} (${rule}); ${winner} came first; to fix it, ${fix.text}`;
}

/** All conflicts, as many as fit. */
export function conflictsText(conflicts: readonly Conflict[]): string {
  const texts = conflicts.map(conflictText);
  const fitting: string[] = [];
  let length = 0;
  for (const text of texts) {
    length += text.length + 2;
    if (length > maxLength) break;
    fitting.push(text);
  }
  const left = texts.length - fitting.length;
  const more = left === 0 ? [] : [`and ${left} more: fairlead mcs explain shows all`];
  return [...fitting, ...more].join('; ');
}

/** `80/TCP in east and north, 8080/TCP in west`. */
function valuesText(values: Conflict['values']): string {
  const groups = Map.groupBy(values, ({ value }) => canonicalText(value));
  return [...groups.values()].map((group) => `${valueText(group[0]?.value)} in ${namesText(group)}`).join(', ');
}

const maxNames = 20;

function namesText(group: Conflict['values']): string {
  const names = group.slice(0, maxNames).map(({ cluster }) => cluster);
  const left = group.length - names.length;
  return listText(left === 0 ? names : [...names, `${left} more`]);
}

/** `east`, `east and west`, `east, north and west`. */
export const listText = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;

/** A value as it would be written in a manifest. */
export function valueText(value: unknown): string {
  if (value === undefined) return 'none';
  if (value === '') return '""';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
