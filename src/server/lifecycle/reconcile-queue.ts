import { setTimeout } from '../../machine/timers.ts';

/** The backoff between attempts. */
const retryMs = { first: 50, most: 5000 };

export interface ReconcileOptions {
  /** Returns whether the key is done; otherwise it is reconciled again after a delay. */
  readonly reconcile: (key: string) => Promise<boolean>;
  readonly onError: (key: string, error: unknown) => void;
  /** How many keys are reconciled at once, but no key twice; default: 1. */
  readonly concurrency?: number;
}

/** Reconciles keys, each queued once, and again after a delay until it is done. */
export class ReconcileQueue {
  readonly #options: ReconcileOptions;
  readonly #queue = new Set<string>();
  /** key → next backoff */
  readonly #delays = new Map<string, number>();
  /** key → its next attempt */
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** Each lane reconciles its keys one after the other. */
  readonly #lanes: Promise<void>[];
  #isClosed = false;

  constructor(options: ReconcileOptions) {
    this.#options = options;
    this.#lanes = Array.from({ length: options.concurrency ?? 1 }, () => Promise.resolve());
  }

  enqueue(key: string): void {
    if (this.#isClosed || this.#queue.has(key)) return;
    this.#queue.add(key);
    const lane = laneOf(key, this.#lanes.length);
    this.#lanes[lane] = (this.#lanes[lane] ?? Promise.resolve()).then(async () => {
      this.#queue.delete(key);
      if (!this.#isClosed) await this.#process(key);
    });
  }

  /** Resolves when all keys that are queued now were reconciled. */
  async idle(): Promise<void> {
    await Promise.all(this.#lanes);
  }

  /** Resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    await Promise.all(this.#lanes);
  }

  async #process(key: string): Promise<void> {
    try {
      if (await this.#options.reconcile(key)) this.#delays.delete(key);
      else this.#retry(key);
    } catch (error) {
      if (this.#isClosed) return;
      this.#options.onError(key, error);
      this.#retry(key);
    }
  }

  #retry(key: string): void {
    if (this.#timers.has(key)) return;
    const delay = this.#delays.get(key) ?? retryMs.first;
    this.#delays.set(key, Math.min(delay * 2, retryMs.most));
    const retry = (): void => {
      this.#timers.delete(key);
      this.enqueue(key);
    };
    this.#timers.set(key, setTimeout(retry, delay));
  }
}

/** Equal for equal keys, so that no key is reconciled twice at once. */
function laneOf(key: string, lanes: number): number {
  let hash = 0;
  for (let at = 0; at < key.length; at++) hash = (hash * 31 + key.charCodeAt(at)) | 0;
  return Math.abs(hash) % lanes;
}
