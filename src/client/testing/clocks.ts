import type { Clock } from '../clock.ts';
import { shortestPauseMs } from '../clock.ts';

/** A clock on which delays of up to a minute end immediately and longer ones never end. */
export const fastClock: Clock = {
  now: () => 0,
  elapsed: () => 0,
  after(ms, run) {
    if (ms > 60_000) return () => {};
    const soon = setImmediate(run);
    return () => clearImmediate(soon);
  },
  resumedAt: () => 0,
};

/** A clock that a test advances. */
export class ManualClock implements Clock {
  #now: number;
  #resumedAt = 0;
  readonly #timers = new Set<{ readonly at: number; readonly run: () => void }>();

  constructor(now = 0) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  elapsed(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Milliseconds until the next timer; undefined: there is none. */
  get nextMs(): number | undefined {
    const [first] = this.#due(Infinity);
    return first === undefined ? undefined : first.at - this.#now;
  }

  resumedAt(): number {
    return this.#resumedAt;
  }

  /** Advances the time without running timers, like a blocked or paused process. */
  stall(ms: number): void {
    this.#now += ms;
    if (ms >= shortestPauseMs) this.#resumedAt = this.#now;
  }

  /** Advances the time, runs due timers in order, and lets promises settle after each. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settled();
    let atOneTime = 0;
    for (let [timer] = this.#due(end); timer !== undefined; [timer] = this.#due(end)) {
      atOneTime = timer.at > this.#now ? 0 : atOneTime + 1;
      if (atOneTime > maxAtOneTime) throw new Error(`more than ${maxAtOneTime} timers ran at ${this.#now} ms`);
      this.#timers.delete(timer);
      this.#now = Math.max(this.#now, timer.at);
      timer.run();
      await settled();
    }
    this.#now = end;
  }

  #due(until: number): { readonly at: number; readonly run: () => void }[] {
    return [...this.#timers].filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at);
  }
}

/** More timers at one time than any test has. */
const maxAtOneTime = 10_000;

/** Waits until pending promises have settled. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}
