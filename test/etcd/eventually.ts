import { setTimeout as delay } from 'node:timers/promises';

/** Repeats a check until it does not throw; after a minute its error is that of the test. */
export async function eventually(check: () => Promise<void>): Promise<void> {
  for (const deadline = Date.now() + 60_000; ; await delay(50)) {
    try {
      await check();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
  }
}
