import { readFile } from 'node:fs/promises';
import type { Clock } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';

/** How long a file has to stay unchanged before its content is used. */
export const settleMs = 50;

/** Reads a file; undefined: it does not exist. */
export type ReadText = () => Promise<string | undefined>;

/** Reads a file that another program writes. */
export const textOf =
  (path: string): ReadText =>
  () =>
    readFile(path, 'utf8').catch(() => undefined);

/**
 * The content of a file once it is complete: a file that is written in place is empty for a moment. Content that equals
 * `last` is returned without a second read.
 */
export async function stableText(
  read: ReadText,
  last: string | undefined,
  clock: Clock = systemClock,
): Promise<string | undefined> {
  let text = await read();
  for (let before; text !== last && text !== before;) {
    before = text;
    await new Promise<void>((resolve) => void clock.after(settleMs, resolve));
    text = await read();
  }
  return text;
}
