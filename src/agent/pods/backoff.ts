// When a container that ended may start again, as the kubelet decides.
import type { Backoff, ContainerRecord } from './record.ts';

const baseMs = 10_000;
const maxMs = 300_000;
/** A run that ended this long after the last restart resets the backoff. */
const resetMs = 600_000;

/** When the container may start again, in milliseconds since 1970. The first restart is immediate. */
export function restartAt({ current, backoff }: ContainerRecord): number {
  const finishedAt = current?.ended?.finishedAt ?? 0;
  if (backoff === undefined || finishedAt - backoff.updatedAt > resetMs) return finishedAt;
  return finishedAt + backoff.ms;
}

/** The backoff after a restart now. */
export function nextBackoff({ current, backoff }: ContainerRecord, now: number): Backoff {
  const finishedAt = current?.ended?.finishedAt ?? now;
  const isNew = backoff === undefined || finishedAt - backoff.updatedAt > resetMs;
  return { ms: isNew ? baseMs : Math.min(backoff.ms * 2, maxMs), updatedAt: now };
}

/** A duration as Go prints it: `10s`, `2m40s`. */
export function goDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
