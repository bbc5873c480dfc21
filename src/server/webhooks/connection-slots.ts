/** The calls of one key that wait, and the number of those that run. */
interface Holder {
  running: number;
  readonly waiting: Set<() => void>;
}

/**
 * Shares connections between keys. A key gets another connection only while more are free than it has, so that keys whose
 * calls do not end always leave some to others: one of them takes half, two take two thirds, and so on.
 */
export class ConnectionSlots {
  readonly #limits: { readonly total: number; readonly perKey: number };
  readonly #holders = new Map<string, Holder>();
  #running = 0;

  constructor(limits: { readonly total: number; readonly perKey: number }) {
    this.#limits = limits;
  }

  /** Runs a call once there is a connection for it. Rejects with the reason of the signal if that fires before. */
  async run<T>(key: string, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    await this.#acquire(key, signal);
    try {
      return await call();
    } finally {
      this.#release(key);
    }
  }

  async #acquire(key: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const holder = this.#holders.get(key) ?? { running: 0, waiting: new Set() };
    this.#holders.set(key, holder);
    if (holder.waiting.size === 0 && this.#hasRoom(holder)) {
      this.#start(holder);
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    holder.waiting.add(resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    if (holder.waiting.delete(resolve)) {
      this.#drop(key, holder);
      signal.throwIfAborted();
    }
  }

  #hasRoom({ running }: Holder): boolean {
    const { total, perKey } = this.#limits;
    return running < Math.min(perKey, total - this.#running);
  }

  #start(holder: Holder): void {
    holder.running++;
    this.#running++;
  }

  #release(key: string): void {
    const released = this.#holders.get(key);
    if (released === undefined) return;
    released.running--;
    this.#running--;
    this.#drop(key, released);
    // In turn: a key that gets a connection is the last one to be asked again.
    for (const [other, holder] of this.#holders) {
      const [next] = holder.waiting;
      if (next === undefined || !this.#hasRoom(holder)) continue;
      holder.waiting.delete(next);
      this.#start(holder);
      this.#holders.delete(other);
      this.#holders.set(other, holder);
      next();
    }
  }

  #drop(key: string, { running, waiting }: Holder): void {
    if (running === 0 && waiting.size === 0) this.#holders.delete(key);
  }
}
