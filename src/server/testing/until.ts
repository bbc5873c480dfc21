/**
 * Waits until `probe` returns a value other than undefined and false, and returns it; rejects with `what` after a timeout. It probes
 * every millisecond at first, and every 20 ms if that takes long.
 */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined> | T | undefined,
  withinMs = 60_000,
): Promise<T> {
  const start = performance.now();
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false) return found;
    const waitedMs = performance.now() - start;
    if (waitedMs > withinMs) throw new Error(`timed out waiting until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, Math.min(20, 1 + waitedMs / 50)));
  }
}
