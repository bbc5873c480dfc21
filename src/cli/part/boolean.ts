import { UsageError } from '../errors.ts';

const words: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((word) => [word, true] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((word) => [word, false] as const),
]);

/** Reads what Kubernetes' programs take for true and false, and refuses the rest in their words. */
export function parseBoolean(text: string): boolean {
  const value = words.get(text);
  if (value === undefined) throw new UsageError(`strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`);
  return value;
}
