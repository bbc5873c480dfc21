import type { Logger } from 'pino';
import { messageOf } from '../api/thrown.ts';
import type { Clock } from '../client/clock.ts';
import { systemClock } from '../client/clock.ts';
import { isRefusal } from '../client/transport.ts';
import { levelOf } from './context.ts';

/** What went wrong lately with what is tried again and again, until it succeeds, or did not fail again for a while. */
export class Complaints {
  readonly #log: Logger;
  readonly #clock: Clock;
  /** What → when it last failed, and why. */
  readonly #last = new Map<string, { readonly atMs: number; readonly why: string }>();

  constructor(log: Logger, clock: Clock = systemClock) {
    this.#log = log;
    this.#clock = clock;
  }

  note(what: string, error: unknown): void {
    // The server forgot where the watch was: it begins anew by itself.
    if (isRefusal(error, 410)) return;
    this.#log[levelOf(error)]({ err: error }, `${what} failed, will try again`);
    this.#last.set(what, { atMs: this.#clock.elapsed(), why: messageOf(error) });
  }

  /** Takes back what was noted: it works again. */
  settle(what: string): void {
    if (this.#last.delete(what)) this.#log.debug(`${what} works again`);
  }

  /** Sentences about what failed so recently that it may fail still. */
  recent(): readonly string[] {
    const since = this.#clock.elapsed() - forgottenAfterMs;
    for (const [what, { atMs }] of this.#last) if (atMs < since) this.#last.delete(what);
    return Array.from(this.#last, ([what, { why }]) => `${what} failed: ${why}`);
  }
}

/** Longer than the longest wait between two tries of an informer. */
const forgottenAfterMs = 35_000;
