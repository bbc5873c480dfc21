import type { Clock } from '../../client/clock.ts';
import type { Key } from '../../client/key.ts';

/** A member without a result after this time lags. */
const graceMs = 1000;
/** The same after an election, when there are no results yet. */
const graceOfTermMs = 10_000;

/** How long the exports of a service wait for members without a result before their status names these as lagging. */
export class LagGrace {
  readonly #clock: Clock;
  /** Service → when its exports began to wait. */
  readonly #waitingSince = new Map<Key, number>();
  #termStartedAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A new leader has no results yet, and must not report members as lagging because of that. */
  beginTerm(): void {
    this.#termStartedAt = this.#clock.elapsed();
    this.#waitingSince.clear();
  }

  /** How long to wait before the status names the members without a result; 0: it names them now. */
  leftMs(key: Key): number {
    const now = this.#clock.elapsed();
    const since = this.#waitingSince.get(key) ?? now;
    this.#waitingSince.set(key, since);
    return Math.max(0, Math.max(since + graceMs, this.#termStartedAt + graceOfTermMs) - now);
  }

  /** When to write the status again while members lag; the wait doubles, so that a slow member causes few writes. */
  requeueAfterMs(key: Key): number {
    const now = this.#clock.elapsed();
    return Math.max(graceMs, now - (this.#waitingSince.get(key) ?? now));
  }

  /** No member is waited for any more. */
  delete(key: Key): void {
    this.#waitingSince.delete(key);
  }
}
