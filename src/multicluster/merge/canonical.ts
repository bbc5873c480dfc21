/** A text that is equal for two values if and only if they are; the order of an object's keys does not matter. */
export function canonicalText(value: unknown): string {
  if (typeof value === 'string') return `"${value}`;
  return (
    JSON.stringify(value, (_, part: unknown) =>
      typeof part === 'object' && part !== null && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).toSorted(([left], [right]) => (left < right ? -1 : 1)))
        : part,
    ) ?? ''
  );
}
