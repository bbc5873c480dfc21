// Counts the results of a probe. No clock, no I/O.
import type { Probe } from './check.ts';

export interface ProbeCount {
  readonly last: 'success' | 'failure' | undefined;
  /** Equal results in a row. */
  readonly run: number;
}

export const noResults: ProbeCount = { last: undefined, run: 0 };

/** Adds a result. `verdict` is set when its threshold is reached. */
export function count(
  before: ProbeCount,
  result: 'success' | 'failure',
  { successThreshold = 1, failureThreshold = 3 }: Pick<Probe, 'successThreshold' | 'failureThreshold'>,
): { readonly next: ProbeCount; readonly verdict: 'success' | 'failure' | undefined } {
  const run = before.last === result ? before.run + 1 : 1;
  const threshold = result === 'success' ? successThreshold : failureThreshold;
  return { next: { last: result, run }, verdict: run >= threshold ? result : undefined };
}

/** The first wait between two checks of a container that was never ready. */
const firstWaitMs = 50;

/**
 * How long to wait after a check. A container that was never ready is checked more often during its first period, so that it
 * is ready soon after it listens; these checks do not count as failures.
 */
export function waitAfter(checks: number, periodMs: number): { readonly waitMs: number; readonly isEarly: boolean } {
  const spentMs = checks < 20 ? firstWaitMs * (2 ** checks - 1) : periodMs;
  if (spentMs >= periodMs) return { waitMs: periodMs, isEarly: false };
  const waitMs = firstWaitMs * 2 ** checks;
  const leftMs = periodMs - spentMs;
  return waitMs < leftMs ? { waitMs, isEarly: true } : { waitMs: leftMs, isEarly: false };
}
