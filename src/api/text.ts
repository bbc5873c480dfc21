// Functions on strings.

/** Truncates text from a client for use in a message. */
export const truncate = (text: string, max = 1024): string => (text.length > max ? `${text.slice(0, max)}...` : text);

/** Removes trailing characters of the given set. A regular expression such as `/-+$/` takes quadratic time. */
export function trimEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/**
 * Names an object in a message that readers of `namespace` can see: by its key (`namespace/name`) if it is in that
 * namespace, otherwise only by its kind.
 */
export const objectText = (kind: string, key: string, namespace: string): string =>
  key.startsWith(`${namespace}/`) ? `${kind} ${key}` : `another ${kind}`;

/** Rows as lines with aligned columns, two spaces apart; each line begins with `indent`. */
export function columns(rows: readonly (readonly string[])[], indent = ''): readonly string[] {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, index) => (widths[index] = Math.max(widths[index] ?? 0, cell.length)));
  const line = (row: readonly string[]): string => row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  ');
  return rows.map((row) => indent + line(row).trimEnd());
}
