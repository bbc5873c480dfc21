import type { Clock } from '../../client/clock.ts';

export interface BrakeOptions {
  /** So many deletions within a window are nothing unusual. Default 20. */
  readonly least?: number;
  /** And so much of what there is of the source. Default a half. */
  readonly share?: number;
  /** How long deletions are counted. Default 10 s. */
  readonly windowMs?: number;
  /** How long they are held when there are too many. Default 60 s. */
  readonly holdMs?: number;
}

interface Window {
  readonly since: number;
  /** What there was of the source when it began. */
  readonly total: number;
  readonly deleted: number;
  /** Until when deletions wait; undefined: they do not. */
  readonly heldUntil?: number;
  /** The hold is over, and what is still to be deleted may be. */
  readonly isReleased?: boolean;
}

/**
 * Holds deletions back when a source that is connected seems to lose much of what it had at once: a restored backup, a
 * definition that was removed, a bug. What is still to be deleted when the hold ends is deleted (sheet 5.6).
 */
export class Brake {
  readonly #clock: Clock;
  readonly #options: Required<BrakeOptions>;
  /** Source → its deletions of late. */
  readonly #windows = new Map<string, Window>();

  constructor(clock: Clock, { least = 20, share = 0.5, windowMs = 10_000, holdMs = 60_000 }: BrakeOptions = {}) {
    this.#clock = clock;
    this.#options = { least, share, windowMs, holdMs };
  }

  /** 0: one more slice of `source` may be deleted, of `total` that there are. Else how long it has to wait. */
  waitMs(source: string, total: number): number {
    const now = this.#clock.elapsed();
    const { least, share, windowMs, holdMs } = this.#options;
    const known = this.#windows.get(source);
    const heldUntil = known?.heldUntil;
    if (heldUntil !== undefined && now < heldUntil) return heldUntil - now;
    const isOver = known === undefined || (heldUntil === undefined && now - known.since > windowMs);
    // After a hold one window is free, which is when everybody who waited tries again.
    const released = heldUntil === undefined ? undefined : { since: now, total, deleted: 0, isReleased: true };
    const window = released ?? (isOver ? { since: now, total, deleted: 0 } : known);
    const deleted = window.deleted + 1;
    const isTooMany = window.isReleased !== true && deleted > least && deleted > window.total * share;
    this.#windows.set(source, isTooMany ? { ...window, heldUntil: now + holdMs } : { ...window, deleted });
    return isTooMany ? holdMs : 0;
  }

  /** Sources whose deletions are held back now. */
  get held(): readonly string[] {
    const now = this.#clock.elapsed();
    return [...this.#windows].filter(([, { heldUntil = 0 }]) => heldUntil > now).map(([source]) => source);
  }
}
