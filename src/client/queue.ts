import type { BackoffOptions, Clock, Random } from './clock.ts';
import { backoffMs, systemClock } from './clock.ts';
import { isTerminal } from './errors.ts';
import type { Key } from './key.ts';

/** The result of reconciling a key: done, or reconcile again after a delay. */
export type Outcome = void | { readonly requeueAfterMs: number };

/** Observes a queue for metrics; see queue-metrics.ts. */
export interface QueueObserver {
  /** A key was added that was not waiting. */
  added(key: Key): void;
  started(key: Key): void;
  finished(key: Key): void;
  retried(key: Key): void;
  /** The queue stopped and dropped the waiting keys. */
  stopped(): void;
}

export interface QueueOptions {
  /**
   * Reconciles a key. If it rejects, the key is retried with exponential backoff; after a TerminalError the key waits
   * until it is added again. Never called concurrently for one key.
   */
  readonly work: (key: Key, signal: AbortSignal) => Promise<Outcome>;
  /** Concurrent runs; default 4. */
  readonly workers?: number;
  /** Backoff per key; default 5 ms to 5 min. */
  readonly backoff?: BackoffOptions;
  /** Adds of a key within this time after its run started cause one run at the end of that time. Default 0. */
  readonly coalesceMs?: number;
  /** Called for every failure with the number of consecutive failures of the key. */
  readonly onError?: (error: unknown, key: Key, failures: number) => void;
  readonly observer?: QueueObserver;
  readonly clock?: Clock;
  readonly random?: Random;
}

/**
 * A deduplicating work queue:
 *
 *     add ─► waiting ─► running ─► done
 *              ▲            │ added during the run, failed, requeueAfterMs
 *              └── delayed ◄┘
 *
 * Each place holds at most one entry per key, so the number of keys bounds the queue.
 */
export class WorkQueue {
  readonly #options: QueueOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #waiting = new Set<Key>();
  readonly #running = new Set<Key>();
  /** Keys added while they run. */
  readonly #dirty = new Set<Key>();
  /** Key → timer of its delayed add. */
  readonly #delayed = new Map<Key, { readonly at: number; readonly cancel: () => void }>();
  /** Key → consecutive failures. */
  readonly #failures = new Map<Key, number>();
  /** Key → when it last started, oldest first; only within `coalesceMs`. */
  readonly #startedAt = new Map<Key, number>();
  readonly #idle = new Set<() => void>();
  #signal: AbortSignal | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
  }

  /** The number of waiting keys. */
  get length(): number {
    return this.#waiting.size + this.#dirty.size;
  }

  /** Enqueues a key. If it is running or was started recently (`coalesceMs`), it runs again afterwards. */
  add(key: Key): void {
    const leftMs = this.#windowLeftMs(key);
    if (leftMs > 0) this.addAfter(key, leftMs);
    else this.#addNow(key);
  }

  #windowLeftMs(key: Key): number {
    const { coalesceMs = 0 } = this.#options;
    if (coalesceMs === 0 || this.#waiting.has(key)) return 0;
    const now = this.#clock.elapsed();
    for (const [old, at] of this.#startedAt) {
      if (now - at < coalesceMs) break;
      this.#startedAt.delete(old);
    }
    const startedAt = this.#startedAt.get(key);
    return startedAt === undefined ? 0 : startedAt + coalesceMs - now;
  }

  #addNow(key: Key): void {
    this.#cancelDelayed(key);
    if (this.#running.has(key)) this.#dirty.add(key);
    else if (!this.#waiting.has(key)) {
      this.#waiting.add(key);
      this.#options.observer?.added(key);
    }
    this.#startWaiting();
  }

  /** Adds a key after a delay; the shortest of several delays wins. */
  addAfter(key: Key, ms: number): void {
    if (this.#signal?.aborted === true) return;
    const at = this.#clock.elapsed() + ms;
    const planned = this.#delayed.get(key);
    if (planned !== undefined && planned.at <= at) return;
    planned?.cancel();
    this.#delayed.set(key, { at, cancel: this.#clock.after(ms, () => this.#addNow(key)) });
  }

  /** Works until the signal fires, then waits for running work. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#signal !== undefined) throw new Error('bug: the queue is already running');
    this.#signal = signal;
    this.#startWaiting();
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    while (this.#running.size > 0) await new Promise<void>((resolve) => this.#idle.add(resolve));
    this.#options.observer?.stopped();
  }

  #startWaiting(): void {
    const signal = this.#signal;
    if (signal === undefined || signal.aborted) return;
    for (const key of this.#waiting) {
      if (this.#running.size >= (this.#options.workers ?? 4)) return;
      this.#waiting.delete(key);
      this.#running.add(key);
      if (this.#options.coalesceMs !== undefined) {
        this.#startedAt.delete(key);
        this.#startedAt.set(key, this.#clock.elapsed());
      }
      this.#options.observer?.started(key);
      void this.#work(key, signal); // catches everything; `run` waits for it
    }
  }

  async #work(key: Key, signal: AbortSignal): Promise<void> {
    try {
      const outcome = await this.#options.work(key, signal);
      this.#failures.delete(key);
      if (outcome !== undefined) this.addAfter(key, outcome.requeueAfterMs);
    } catch (error) {
      this.#fail(key, error, signal);
    }
    this.#running.delete(key);
    this.#options.observer?.finished(key);
    if (this.#dirty.delete(key)) this.#addNow(key);
    this.#startWaiting();
    if (this.#running.size > 0) return;
    for (const resolve of this.#idle) resolve();
    this.#idle.clear();
  }

  #fail(key: Key, error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return; // interrupted, not failed
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#options.onError?.(error, key, failures);
    if (isTerminal(error)) {
      this.#failures.delete(key);
      return;
    }
    this.#failures.set(key, failures);
    this.#options.observer?.retried(key);
    this.addAfter(key, backoffMs(this.#options.backoff ?? defaultBackoff, failures, this.#random));
  }

  #cancelDelayed(key: Key): void {
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
  }
}

const defaultBackoff: BackoffOptions = { baseMs: 5, maxMs: 300_000 };
