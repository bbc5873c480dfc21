/** Limits how many operations run at once. Waiters are served in order. */
export class Semaphore {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(permits: number) {
    this.#free = permits;
  }

  /**
   * Resolves when the caller has a permit, which it must `release`. `onWait` is called if the caller has to wait; the
   * function it receives cancels the wait, so that `acquire` rejects with the given reason.
   */
  async acquire(onWait?: (cancel: (reason: unknown) => void) => void): Promise<void> {
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    onWait?.((reason) => {
      // A waiter that already has its permit releases it itself.
      if (this.#waiting.delete(resolve)) reject(reason);
    });
    await promise;
  }

  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free++;
      return;
    }
    this.#waiting.delete(next);
    next();
  }

  /** Runs `work` with a permit. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.acquire();
    try {
      return await work();
    } finally {
      this.release();
    }
  }
}
