import type { Clock } from './clock.ts';

/** How long what was read is taken for right. */
const rereadMs = 10_000;

/**
 * Reads what others replace while programs run: again when it is a while ago, and at once when what it said was refused.
 * What cannot be read now, being half written or gone for a moment, is as it was; only the first time must go well.
 */
export function rereading<T>(
  read: (last: T | undefined) => Promise<T>,
  clock: Clock,
): (isRefused: boolean) => Promise<T> {
  let latest: { readonly value: T; readonly readAt: number } | undefined;
  /** One reading serves all who wait for it. */
  let reading: Promise<T> | undefined;
  const readNow = async (): Promise<T> => {
    const readAt = clock.elapsed();
    try {
      latest = { value: await read(latest?.value), readAt };
    } catch (error) {
      if (latest === undefined) throw error;
      latest = { ...latest, readAt };
    }
    return latest.value;
  };
  return async (isRefused) => {
    if (latest !== undefined && !isRefused && clock.elapsed() - latest.readAt < rereadMs) return latest.value;
    reading ??= readNow().finally(() => {
      reading = undefined;
    });
    return reading;
  };
}
