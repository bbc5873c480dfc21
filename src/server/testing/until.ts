/** Waits until `probe` gives something, and gives it back; rejects with `what` when it takes too long. */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined> | T | undefined,
  withinMs = 30_000,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
