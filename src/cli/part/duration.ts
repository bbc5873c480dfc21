import { UsageError } from '../errors.ts';

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Reads a duration as Kubernetes' programs do, such as `15s`, `1m30s` or `1.5s`, in milliseconds. */
export function parseGoDuration(text: string): number {
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(text)) throw new UsageError(`time: invalid duration "${text}"`);
  let ms = 0;
  for (const [, count = '', unit = ''] of text.matchAll(/([\d.]+)(ms|s|m|h)/gy))
    ms += Number(count) * (unitMs[unit] ?? 0);
  return ms;
}
