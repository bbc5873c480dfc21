import type { Target } from '../routes/route.ts';

/** Where a client was sent. */
export type Pin = Pick<Target, 'address' | 'port'>;

interface Entry extends Pin {
  readonly expiresMs: number;
}

/**
 * Remembers which target a client of a route got, each for its time since the last connection. The client that has been
 * away longest is forgotten first when there are too many.
 */
export class Pins {
  /** Route key and client → pin, the oldest first. */
  readonly #entries = new Map<string, Entry>();
  readonly #most: number;
  readonly #now: () => number;

  constructor({ most, now }: { readonly most: number; readonly now: () => number }) {
    this.#most = most;
    this.#now = now;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The target of a client, unless its time is over. */
  get(route: string, client: string): Pin | undefined {
    const entry = this.#entries.get(nameOf(route, client));
    return entry !== undefined && entry.expiresMs > this.#now() ? entry : undefined;
  }

  /** Remembers a target from now on; for 0 seconds: forgets what was remembered. */
  set(route: string, client: string, { address, port, stickySeconds }: Target): void {
    const name = nameOf(route, client);
    const isKnown = this.#entries.delete(name);
    if (stickySeconds === 0) return;
    if (!isKnown && this.#entries.size >= this.#most) this.#forgetOldest();
    this.#entries.set(name, { address, port, expiresMs: this.#now() + stickySeconds * 1000 });
  }

  #forgetOldest(): void {
    for (const name of this.#entries.keys()) {
      this.#entries.delete(name);
      return;
    }
  }
}

const nameOf = (route: string, client: string): string => `${route} ${client}`;
