import type { Clock } from '../../client/clock.ts';
import type { Key } from '../../client/key.ts';

/** Members that have not taken a service by then lag: after it was first waited for, and after a controller began. */
const patienceMs = 1000;
const newMs = 10_000;

/** For how long members are waited for that have not looked at a service yet, before its exports are told that they lag. */
export class Patience {
  readonly #clock: Clock;
  /** Key → since when some member is waited for. */
  readonly #since = new Map<Key, number>();
  #ledSince = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A controller that has just begun does not know what members have, and must not say that they lack it. */
  begin(): void {
    this.#ledSince = this.#clock.elapsed();
    this.#since.clear();
  }

  /** Some member has not looked at a service yet: how long there is nothing to say; 0: that it lags. */
  leftMs(key: Key): number {
    const now = this.#clock.elapsed();
    const since = this.#since.get(key) ?? now;
    this.#since.set(key, since);
    return Math.max(0, Math.max(since + patienceMs, this.#ledSince + newMs) - now);
  }

  /** When to tell next of members that lag: ever more rarely, since who lags is told, not how each of them comes along. */
  againMs(key: Key): number {
    const now = this.#clock.elapsed();
    return Math.max(patienceMs, now - (this.#since.get(key) ?? now));
  }

  /** Nobody is waited for any more. */
  forget(key: Key): void {
    this.#since.delete(key);
  }
}
