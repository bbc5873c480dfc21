/** Places to wait in: so many in all, and so many for one client. It remembers clients only while they wait. */
export class Seats {
  readonly #most: number;
  readonly #mostPerClient: number;
  /** Client → seats it has. */
  readonly #clients = new Map<string, number>();
  #taken = 0;

  constructor(most: number, mostPerClient: number) {
    this.#most = most;
    this.#mostPerClient = mostPerClient;
  }

  /** Takes a seat; `overload`: there is none, `client`: this one has enough. */
  enter(client: string): 'taken' | 'overload' | 'client' {
    const own = this.#clients.get(client) ?? 0;
    if (own >= this.#mostPerClient) return 'client';
    if (this.#taken >= this.#most) return 'overload';
    this.#clients.set(client, own + 1);
    this.#taken += 1;
    return 'taken';
  }

  /** Gives a seat back. */
  leave(client: string): void {
    const own = this.#clients.get(client) ?? 0;
    if (own <= 0) throw new Error(`bug: ${client} has no seat`);
    if (own === 1) this.#clients.delete(client);
    else this.#clients.set(client, own - 1);
    this.#taken -= 1;
  }
}
