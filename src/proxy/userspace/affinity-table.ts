import type { Target } from '../routes/route.ts';

/** The target of a client with session affinity. */
export type AffinityTarget = Pick<Target, 'address' | 'port'>;

interface Entry extends AffinityTarget {
  readonly expiresMs: number;
}

/**
 * Session affinity: the target of each client of a route. An entry expires after the affinity timeout since the last connection.
 * When the table is full, the least recently used entry is removed.
 */
export class AffinityTable {
  /** Route key and client → entry, least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #maxEntries: number;
  readonly #now: () => number;

  constructor({ maxEntries, now }: { readonly maxEntries: number; readonly now: () => number }) {
    this.#maxEntries = maxEntries;
    this.#now = now;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The target of a client, unless its entry has expired. */
  get(route: string, client: string): AffinityTarget | undefined {
    const entry = this.#entries.get(nameOf(route, client));
    return entry !== undefined && entry.expiresMs > this.#now() ? entry : undefined;
  }

  /** Sets the target of a client and restarts its timeout. With a timeout of 0 it removes the entry. */
  set(route: string, client: string, { address, port, stickySeconds }: Target): void {
    const name = nameOf(route, client);
    const existed = this.#entries.delete(name);
    if (stickySeconds === 0) return;
    if (!existed && this.#entries.size >= this.#maxEntries) this.#removeOldest();
    this.#entries.set(name, { address, port, expiresMs: this.#now() + stickySeconds * 1000 });
  }

  #removeOldest(): void {
    for (const name of this.#entries.keys()) {
      this.#entries.delete(name);
      return;
    }
  }
}

const nameOf = (route: string, client: string): string => `${route} ${client}`;
