import type { Logger } from 'pino';
import { messageOf } from '../api/error-message.ts';
import type { Clock } from './clock.ts';
import { systemClock } from './clock.ts';
import { isUnusableServer } from './connection-error.ts';
import { hasStatusCode } from './transport.ts';

/** Recent errors of operations that are retried without end, such as watches, for logs and readiness. */
export class WatchErrors {
  readonly #log: Pick<Logger, 'debug' | 'warn'>;
  readonly #clock: Clock;
  /** Operation → its last failure. */
  readonly #last = new Map<string, { readonly atMs: number; readonly why: string }>();

  /** Operation → how often it failed or worked again. */
  readonly #changes = new Map<string, number>();

  constructor(log: Pick<Logger, 'debug' | 'warn'>, clock: Clock = systemClock) {
    this.#log = log;
    this.#clock = clock;
  }

  failed(what: string, error: unknown): void {
    // The server no longer has the revision of the watch: the informer lists again by itself.
    if (hasStatusCode(error, 410)) return;
    this.#log[retryLevel(error)]({ err: error }, `${what} failed, retrying`);
    this.#count(what);
    this.#last.set(what, { atMs: this.#clock.elapsed(), why: messageOf(error) });
  }

  recovered(what: string): void {
    if (!this.#last.delete(what)) return;
    this.#count(what);
    this.#log.debug(`${what} works again`);
  }

  /** The last error of an operation; undefined if it did not fail recently. */
  why(what: string): string | undefined {
    this.#expire();
    return this.#last.get(what)?.why;
  }

  /** A sentence for each operation that failed recently. */
  recent(): readonly string[] {
    this.#expire();
    return Array.from(this.#last, ([what, { why }]) => `${what} failed: ${why}`);
  }

  /** How often an operation failed or worked again: if that changed, it was interrupted meanwhile. */
  changes(what: string): number {
    return this.#changes.get(what) ?? 0;
  }

  #count(what: string): void {
    this.#changes.set(what, this.changes(what) + 1);
  }

  #expire(): void {
    const since = this.#clock.elapsed() - expiryMs;
    for (const [what, { atMs }] of this.#last) if (atMs < since) this.#last.delete(what);
  }
}

/** Longer than the longest backoff of an informer. */
const expiryMs = 35_000;

/**
 * The log level of an error that is retried. If the server cannot be used, every request fails, and the process that runs the
 * part logs that once.
 */
export const retryLevel = (error: unknown): 'warn' | 'debug' => (isUnusableServer(error) ? 'debug' : 'warn');
