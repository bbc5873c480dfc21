import type { Clock } from './clock.ts';

export interface DeletionLimits {
  /** Up to this many deletions within a window are always allowed. Default 20. */
  readonly least?: number;
  /** Above that, this share of the slices of the source. Default a half. */
  readonly share?: number;
  /** How long deletions are counted. Default 10 s. */
  readonly windowMs?: number;
  /** How long deletions are delayed once there are too many. Default 60 s. */
  readonly holdMs?: number;
}

interface Window {
  readonly startedAt: number;
  /** The slices of the source when the window began. */
  readonly total: number;
  readonly deleted: number;
  /** Deletions are delayed until then; undefined: they are not. */
  readonly heldUntil?: number;
  /** The delay is over: deletions in this window are not limited. */
  readonly isReleased?: boolean;
}

/**
 * Delays deletions when a source that is connected seems to lose much of what it had at once: a restored backup, a
 * definition that was removed, a bug. What is still to be deleted after the delay is deleted.
 */
export class DeletionLimiter {
  readonly #clock: Clock;
  readonly #limits: Required<DeletionLimits>;
  /** Source → its recent deletions. */
  readonly #windows = new Map<string, Window>();

  constructor(clock: Clock, { least = 20, share = 0.5, windowMs = 10_000, holdMs = 60_000 }: DeletionLimits = {}) {
    this.#clock = clock;
    this.#limits = { least, share, windowMs, holdMs };
  }

  /** How long the deletion of one of `total` slices of a source has to wait; 0 allows and counts it. */
  waitMs(source: string, total: number): number {
    const now = this.#clock.elapsed();
    const { least, share, windowMs, holdMs } = this.#limits;
    const last = this.#windows.get(source);
    const heldUntil = last?.heldUntil;
    if (heldUntil !== undefined && now < heldUntil) return heldUntil - now;
    const isOver = last === undefined || (heldUntil === undefined && now - last.startedAt > windowMs);
    // All deletions that were delayed are retried at the end of the delay: the window that begins then has no limit.
    const released = heldUntil === undefined ? undefined : { startedAt: now, total, deleted: 0, isReleased: true };
    const window = released ?? (isOver ? { startedAt: now, total, deleted: 0 } : last);
    const deleted = window.deleted + 1;
    const isTooMany = window.isReleased !== true && deleted > least && deleted > window.total * share;
    this.#windows.set(source, isTooMany ? { ...window, heldUntil: now + holdMs } : { ...window, deleted });
    return isTooMany ? holdMs : 0;
  }

  /** Sources whose deletions are delayed now. */
  get held(): readonly string[] {
    const now = this.#clock.elapsed();
    return [...this.#windows].filter(([, { heldUntil = 0 }]) => heldUntil > now).map(([source]) => source);
  }
}
