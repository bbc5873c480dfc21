/** Does something for each item in turn, also after it failed for one, and throws the first error at the end. */
export async function forEachDespiteErrors<T>(items: Iterable<T>, run: (item: T) => Promise<void>): Promise<void> {
  const errors: unknown[] = [];
  for (const item of items) await run(item).catch((error: unknown) => void errors.push(error));
  if (errors.length > 0) throw errors[0];
}
