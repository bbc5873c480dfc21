/** Waits until `probe` returns a value other than undefined and false, and returns it; rejects with `what` after a timeout. */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined> | T | undefined,
  withinMs = 30_000,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`timed out waiting: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
