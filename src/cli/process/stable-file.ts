import { readFile } from 'node:fs/promises';
import type { Clock } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';

/** What a file says counts when it has said so for this long. */
export const settleMs = 50;

/** What a file says now; undefined: it is away. */
export type ReadText = () => Promise<string | undefined>;

/** Reads a file that another program writes. */
export const textOf =
  (path: string): ReadText =>
  () =>
    readFile(path, 'utf8').catch(() => undefined);

/**
 * What a file says once it is whole: one that is written in place is empty for a moment, and nothing is what everything
 * is by default. What is `known` already needs no second look.
 */
export async function settledText(
  read: ReadText,
  known: string | undefined,
  clock: Clock = systemClock,
): Promise<string | undefined> {
  let text = await read();
  for (let before; text !== known && text !== before;) {
    before = text;
    await new Promise<void>((resolve) => void clock.after(settleMs, resolve));
    text = await read();
  }
  return text;
}
