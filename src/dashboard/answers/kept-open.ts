import { setTimeout } from '../../machine/timers.ts';

/** Something that is expensive to open: opened at its first use, and disposed of when it was unused for a while. */
export class KeptOpen<T extends AsyncDisposable> implements AsyncDisposable {
  readonly #open: () => Promise<T>;
  readonly #idleMs: number;
  #opening: Promise<T> | undefined;
  #isOpen = false;
  #users = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(open: () => Promise<T>, { idleMs = 60_000 }: { readonly idleMs?: number } = {}) {
    this.#open = open;
    this.#idleMs = idleMs;
  }

  /** Whether it can be used without waiting. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Runs `work`. Concurrent uses share one; the use after a failed one opens it again. */
  async use<R>(work: (value: T) => R | Promise<R>): Promise<R> {
    clearTimeout(this.#timer);
    this.#users++;
    try {
      const opening = (this.#opening ??= this.#open());
      const value = await opening.catch((error: unknown) => {
        if (this.#opening === opening) this.#opening = undefined;
        throw error;
      });
      if (this.#opening === opening) this.#isOpen = true;
      return await work(value);
    } finally {
      this.#users--;
      if (this.#users === 0) this.#timer = setTimeout(() => void this[Symbol.asyncDispose](), this.#idleMs).unref();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    const opening = this.#opening;
    this.#opening = undefined;
    this.#isOpen = false;
    const value = await opening?.catch(() => undefined); // reported to those who used it
    await value?.[Symbol.asyncDispose]();
  }
}
