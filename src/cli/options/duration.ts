import { UsageError } from '../errors.ts';

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Reads `90d`, `12h` or `1h30m`, in seconds. */
export function parseDuration(text: string): number {
  if (!/^(?:\d+[smhd])+$/.test(text)) throw new UsageError('expected a duration, such as 12h or 90d');
  let seconds = 0;
  for (const [, count = '', unit = ''] of text.matchAll(/(\d+)([smhd])/gy)) {
    seconds += Number(count) * (unitSeconds[unit] ?? 0);
  }
  if (seconds === 0) throw new UsageError('expected more than nothing');
  return seconds;
}
