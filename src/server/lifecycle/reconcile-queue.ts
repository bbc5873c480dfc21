import { setTimeout } from '../../machine/timers.ts';

/** The backoff between attempts. */
const retryMs = { first: 50, most: 5000 };

export interface ReconcileOptions {
  /** Returns whether the key is done; otherwise it is reconciled again after a delay. */
  readonly reconcile: (key: string) => Promise<boolean>;
  readonly onError: (key: string, error: unknown) => void;
}

/** Reconciles keys one after the other, each queued once, and again after a delay until it is done. */
export class ReconcileQueue {
  readonly #options: ReconcileOptions;
  readonly #queue = new Set<string>();
  /** key → next backoff */
  readonly #delays = new Map<string, number>();
  /** key → its next attempt */
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #working: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: ReconcileOptions) {
    this.#options = options;
  }

  enqueue(key: string): void {
    if (this.#isClosed || this.#queue.has(key)) return;
    this.#queue.add(key);
    this.#working = this.#working.then(async () => {
      this.#queue.delete(key);
      if (!this.#isClosed) await this.#process(key);
    });
  }

  /** Resolves when all keys that are queued now were reconciled. */
  async idle(): Promise<void> {
    await this.#working;
  }

  /** Resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    await this.#working;
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
