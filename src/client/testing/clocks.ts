import type { Clock } from '../clock.ts';
import { shortestPauseMs } from '../clock.ts';

/** A clock on which a wait of up to a minute is over at once, and a longer one never. */
export const hastyClock: Clock = {
  now: () => 0,
  elapsed: () => 0,
  after(ms, run) {
    if (ms > 60_000) return () => {};
    const soon = setImmediate(run);
    return () => clearImmediate(soon);
  },
  resumedAt: () => 0,
};

/** A clock that moves when told to. */
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

  /** How long until the next timer; undefined: there is none. */
  get nextMs(): number | undefined {
    const [first] = this.#due(Infinity);
    return first === undefined ? undefined : first.at - this.#now;
  }

  resumedAt(): number {
    return this.#resumedAt;
  }

  /** Lets `ms` pass in which nothing gets its turn, as where a process is held up, or paused. */
  stall(ms: number): void {
    this.#now += ms;
    if (ms >= shortestPauseMs) this.#resumedAt = this.#now;
  }

  /** Lets `ms` pass: timers run in their order, and what waits for them gets its turn after each. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settled();
    let inPlace = 0;
    for (let [timer] = this.#due(end); timer !== undefined; [timer] = this.#due(end)) {
      inPlace = timer.at > this.#now ? 0 : inPlace + 1;
      if (inPlace > mostInPlace) throw new Error(`timers run again and again at ${this.#now} ms: time stands still`);
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

/** More timers at one moment than any test has. */
const mostInPlace = 10_000;

/** Resolves when all that can go on without time passing has gone on. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}
