import type { Logger } from 'pino';

import { familyOf } from '../../../api/addresses.ts';
import { messageOf } from '../../../api/error-message.ts';
import type { Clock } from '../../../client/clock.ts';
import { sleep } from '../../../client/clock.ts';
import { announceIpv4 } from './gratuitous-arp.ts';
import { NetworkInterface } from './interface.ts';

export interface AnnounceOptions {
  /** The network interface that has the addresses. */
  readonly interfaceName: string;
  /** How long an address outlives a process that died. */
  readonly lifetimeMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Has a network interface of this machine answer for the addresses of load balancers. Addresses live for a while only,
 * and are kept alive: a machine that leads no longer, or whose process was killed, gives them up by itself.
 */
export class Announcer {
  readonly #options: AnnounceOptions;
  readonly #interface: NetworkInterface;
  #claims = new AddressClaims();
  #hasTold = true;
  /** Changes of the interface, one after the other: what is given up and taken again is there in the end. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: AnnounceOptions) {
    this.#options = options;
    this.#interface = new NetworkInterface(options.interfaceName, options.lifetimeMs);
  }

  /** A Service, by its UID, has these addresses from now on: resolves when they are answered for. */
  async setAddresses(service: string, addresses: readonly string[]): Promise<void> {
    const { gained, lost } = this.#claims.set(service, addresses);
    if (gained.length === 0 && lost.length === 0) return;
    try {
      await this.#inTurn(async () => {
        await this.#interface.remove(lost);
        await this.#interface.add(gained);
      });
    } catch (error) {
      this.#claims.set(service, []); // so that the next try begins anew
      throw error;
    }
    await this.#tellNeighbours(gained);
  }

  /** Keeps the addresses until the signal fires, then gives them up. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, lifetimeMs, log } = this.#options;
    while (!signal.aborted) {
      await sleep(clock, lifetimeMs / 3, signal);
      if (signal.aborted) break;
      await this.#inTurn(() => this.#interface.add(this.#claims.addresses)).catch((error: unknown) =>
        log.warn({ err: error }, 'addresses could not be kept, and go when their lifetime ends'),
      );
    }
    const { addresses } = this.#claims;
    this.#claims = new AddressClaims();
    await this.#inTurn(() => this.#interface.remove(addresses)).catch((error: unknown) =>
      log.warn({ err: error }, 'addresses could not be given up, and go when their lifetime ends'),
    );
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined); // told to who asked for it
    return done;
  }

  async #tellNeighbours(addresses: readonly string[]): Promise<void> {
    const told = addresses.filter((address) => familyOf(address) === 'IPv4');
    if (told.length === 0) return;
    const hasTold = await announceIpv4(this.#interface.name, told).catch((error: unknown) => {
      this.#options.log.debug({ err: messageOf(error) }, 'a gratuitous ARP could not be sent');
      return false;
    });
    if (!hasTold && this.#hasTold) {
      this.#options.log.info(
        { interface: this.#interface.name },
        'neighbours are not told of addresses, they have to ask',
      );
    }
    this.#hasTold = hasTold;
  }
}

/** What a change of claims does to the addresses that somebody has to answer for. */
export interface ClaimChange {
  readonly gained: readonly string[];
  readonly lost: readonly string[];
}

/** Which addresses are answered for, and because of which Services: an address goes with the last Service that has it. */
export class AddressClaims {
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
