/** Rows as lines whose columns are aligned, each line after `indent`. */
export function aligned(rows: readonly (readonly string[])[], indent = '  '): readonly string[] {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, at) => (widths[at] = Math.max(widths[at] ?? 0, cell.length)));
  return rows.map(
    (row) =>
      indent +
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
  );
}
