import type { BackoffOptions, Clock, Random } from './clock.ts';
import { backoffMs, systemClock } from './clock.ts';
import { isTerminal } from './errors.ts';
import type { Key } from './key.ts';

/** What a run of the work asks for: nothing more, or another run after a while. */
export type Outcome = void | { readonly requeueAfterMs: number };

/** Told what a queue does, for metrics; see queue-metrics.ts. */
export interface QueueObserver {
  /** A key waits that did not wait before. */
  added(key: Key): void;
  started(key: Key): void;
  finished(key: Key): void;
  retried(key: Key): void;
  /** The queue stopped, and what waited does no longer. */
  stopped(): void;
}

export interface QueueOptions {
  /**
   * Does what a key needs, from scratch. Resolves: done. Rejects: tried again after a wait that doubles, but for a
   * terminal error, which waits for the key to be added again. Never called twice at once for one key.
   */
  readonly work: (key: Key, signal: AbortSignal) => Promise<Outcome>;
  /** How many keys are worked on at once; default 4. */
  readonly workers?: number;
  /** Waits of one key after failures; default 5 ms to 5 min. */
  readonly backoff?: BackoffOptions;
  /** Told of every failure, and how often in a row the key has failed. */
  readonly onError?: (error: unknown, key: Key, failures: number) => void;
  readonly observer?: QueueObserver;
  readonly clock?: Clock;
  readonly random?: Random;
}

/**
 * Keys that need work, each once however often it is added:
 *
 *     add ─► waiting ─► running ─► done
 *              ▲           │ added meanwhile, failed, again later
 *              └── later ◄─┘
 *
 * It holds at most one entry a key in each place, so what bounds the keys bounds the queue.
 */
export class WorkQueue {
  readonly #options: QueueOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  /** In the order they are worked on. */
  readonly #waiting = new Set<Key>();
  readonly #running = new Set<Key>();
  /** Added while they ran. */
  readonly #again = new Set<Key>();
  /** Key → when it is due, and how to forget that. */
  readonly #later = new Map<Key, { readonly at: number; readonly cancel: () => void }>();
  /** Key → failures in a row. */
  readonly #failures = new Map<Key, number>();
  readonly #idle = new Set<() => void>();
  #signal: AbortSignal | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
  }

  /** How many keys wait to be worked on now. */
  get length(): number {
    return this.#waiting.size + this.#again.size;
  }

  /** Puts a key to work, now or when its present run is over. */
  add(key: Key): void {
    this.#forget(key);
    if (this.#running.has(key)) this.#again.add(key);
    else if (!this.#waiting.has(key)) {
      this.#waiting.add(key);
      this.#options.observer?.added(key);
    }
    this.#next();
  }

  /** Adds a key after a while; of several waits the shortest counts. */
  addAfter(key: Key, ms: number): void {
    if (this.#signal?.aborted === true) return;
    const at = this.#clock.elapsed() + ms;
    const planned = this.#later.get(key);
    if (planned !== undefined && planned.at <= at) return;
    planned?.cancel();
    this.#later.set(key, { at, cancel: this.#clock.after(ms, () => this.add(key)) });
  }

  /** Works until the signal fires, then begins nothing new and resolves when what runs is over. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#signal !== undefined) throw new Error('bug: the queue runs already');
    this.#signal = signal;
    this.#next();
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    for (const { cancel } of this.#later.values()) cancel();
    this.#later.clear();
    while (this.#running.size > 0) await new Promise<void>((resolve) => this.#idle.add(resolve));
    this.#options.observer?.stopped();
  }

  /** Starts what may start. */
  #next(): void {
    const signal = this.#signal;
    if (signal === undefined || signal.aborted) return;
    for (const key of this.#waiting) {
      if (this.#running.size >= (this.#options.workers ?? 4)) return;
      this.#waiting.delete(key);
      this.#running.add(key);
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
    if (this.#again.delete(key)) this.add(key);
    this.#next();
    if (this.#running.size > 0) return;
    for (const resolve of this.#idle) resolve();
    this.#idle.clear();
  }

  #fail(key: Key, error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return; // it was told to stop, and did
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

  #forget(key: Key): void {
    this.#later.get(key)?.cancel();
    this.#later.delete(key);
  }
}

const defaultBackoff: BackoffOptions = { baseMs: 5, maxMs: 300_000 };
