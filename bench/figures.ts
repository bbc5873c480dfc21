/**
 * The figures in the tables of a benchmark: `row, column` → number. A second number in a cell, the CPU time in parentheses, is a figure
 * of its own. Ratios to peers are left out.
 */
export function figuresIn(printed: string): ReadonlyMap<string, number> {
  const figures = new Map<string, number>();
  let columns: readonly string[] = [];
  let isInTable = false;
  for (const line of printed.split('\n')) {
    if (!line.startsWith('|')) {
      isInTable = false;
      continue;
    }
    const cells = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    if (!isInTable) {
      columns = cells;
      isInTable = true;
      continue;
    }
    const [row = '', ...values] = cells;
    for (const [index, value] of values.entries()) addCell(figures, [row, columns[index + 1] ?? ''], value);
  }
  return figures;
}

function addCell(figures: Map<string, number>, [row, column]: readonly [string, string], cell: string): void {
  if (cell.endsWith('×')) return;
  const name = column === '' ? row : `${row}, ${column}`;
  const [value, cpu] = Array.from(cell.matchAll(/-?\d[\d,]*(?:\.\d+)?/g), ([text]) => Number(text.replaceAll(',', '')));
  if (value !== undefined) figures.set(name, value);
  if (cpu !== undefined && cell.endsWith(' CPU)')) figures.set(`${name}, µs CPU`, cpu);
}
