/** What a change of claims does to the addresses that somebody has to answer for. */
export interface ClaimChange {
  readonly gained: readonly string[];
  readonly lost: readonly string[];
}

/** Which addresses are answered for, and because of which Services: an address goes with the last Service that has it. */
export class Claims {
  /** Service → its addresses. */
  readonly #byService = new Map<string, readonly string[]>();
  /** Address → the Services that have it. */
  readonly #byAddress = new Map<string, Set<string>>();

  /** Every address that is claimed. */
  get addresses(): readonly string[] {
    return [...this.#byAddress.keys()];
  }

  /** A Service has these addresses from now on, and no others. */
  set(service: string, addresses: readonly string[]): ClaimChange {
    const before = this.#byService.get(service) ?? [];
    const gained = addresses.filter((address) => this.#add(address, service));
    const lost = before.filter((address) => !addresses.includes(address) && this.#remove(address, service));
    if (addresses.length === 0) this.#byService.delete(service);
    else this.#byService.set(service, addresses);
    return { gained, lost };
  }

  /** Whether nobody had it before. */
  #add(address: string, service: string): boolean {
    const services = this.#byAddress.get(address) ?? new Set();
    this.#byAddress.set(address, services.add(service));
    return services.size === 1 && this.#byService.get(service)?.includes(address) !== true;
  }

  /** Whether nobody has it any more. */
  #remove(address: string, service: string): boolean {
    const services = this.#byAddress.get(address);
    services?.delete(service);
    if (services?.size === 0) this.#byAddress.delete(address);
    return services?.size === 0;
  }
}
