import type { Logger } from 'pino';

import { familyOf } from '../../../api/addresses.ts';
import { messageOf } from '../../../api/error-message.ts';
import type { Clock } from '../../../client/clock.ts';
import { sleep } from '../../../client/clock.ts';
import { announceIpv4 } from './gratuitous-arp.ts';
import { NetworkInterface } from './interface.ts';

export interface AnnounceOptions {
  /** The network interface that is assigned the addresses. */
  readonly interfaceName: string;
  /** How long an address stays after the process dies. */
  readonly lifetimeMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Assigns the addresses of load balancers to a network interface of this machine. Addresses have a limited lifetime and are
 * renewed, so that the kernel removes them if this process is killed or loses its leadership.
 */
export class Announcer {
  readonly #options: AnnounceOptions;
  readonly #interface: NetworkInterface;
  #claims = new AddressClaims();
  #wasSent = true;
  /** Serializes changes of the interface, so that the last change wins. */
  #pending: Promise<unknown> = Promise.resolve();

  constructor(options: AnnounceOptions) {
    this.#options = options;
    this.#interface = new NetworkInterface(options.interfaceName, options.lifetimeMs);
  }

  /** Sets the addresses of a Service, given by its UID; resolves when they are assigned. */
  async setAddresses(service: string, addresses: readonly string[]): Promise<void> {
    const { gained, lost } = this.#claims.set(service, addresses);
    if (gained.length === 0 && lost.length === 0) return;
    try {
      await this.#serialize(async () => {
        await this.#interface.remove(lost);
        await this.#interface.add(gained);
      });
    } catch (error) {
      this.#claims.set(service, []); // the retry starts from scratch
      throw error;
    }
    await this.#sendGratuitousArp(gained);
  }

  /** Renews the addresses until the signal fires, then removes them. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, lifetimeMs, log } = this.#options;
    while (!signal.aborted) {
      await sleep(clock, lifetimeMs / 3, signal);
      if (signal.aborted) break;
      await this.#serialize(() => this.#interface.add(this.#claims.addresses)).catch((error: unknown) =>
        log.warn({ err: error }, 'could not renew addresses, retrying'),
      );
    }
    const { addresses } = this.#claims;
    this.#claims = new AddressClaims();
    await this.#serialize(() => this.#interface.remove(addresses)).catch((error: unknown) =>
      log.warn({ err: error }, 'could not remove addresses, which expire with their lifetime'),
    );
  }

  #serialize(work: () => Promise<void>): Promise<void> {
    const done = this.#pending.then(work);
    this.#pending = done.catch(() => undefined); // reported to the caller
    return done;
  }

  async #sendGratuitousArp(addresses: readonly string[]): Promise<void> {
    const ipv4 = addresses.filter((address) => familyOf(address) === 'IPv4');
    if (ipv4.length === 0) return;
    const isSent = await announceIpv4(this.#interface.name, ipv4).catch((error: unknown) => {
      this.#options.log.debug({ err: messageOf(error) }, 'could not send gratuitous ARP');
      return false;
    });
    if (!isSent && this.#wasSent) {
      this.#options.log.info(
        { interface: this.#interface.name },
        'gratuitous ARP is not available: neighbours use moved addresses only after their ARP cache expires',
      );
    }
    this.#wasSent = isSent;
  }
}

export interface ClaimChange {
  readonly gained: readonly string[];
  readonly lost: readonly string[];
}

/** Tracks which Services use which addresses. An address is released with its last Service. */
export class AddressClaims {
  readonly #byService = new Map<string, readonly string[]>();
  /** Address → Services. */
  readonly #byAddress = new Map<string, Set<string>>();

  get addresses(): readonly string[] {
    return [...this.#byAddress.keys()];
  }

  /** Replaces the addresses of a Service. */
  set(service: string, addresses: readonly string[]): ClaimChange {
    const before = this.#byService.get(service) ?? [];
    const gained = addresses.filter((address) => this.#add(address, service));
    const lost = before.filter((address) => !addresses.includes(address) && this.#remove(address, service));
    if (addresses.length === 0) this.#byService.delete(service);
    else this.#byService.set(service, addresses);
    return { gained, lost };
  }

  /** Returns whether the address is new. */
  #add(address: string, service: string): boolean {
    const services = this.#byAddress.get(address) ?? new Set();
    this.#byAddress.set(address, services.add(service));
    return services.size === 1 && this.#byService.get(service)?.includes(address) !== true;
  }

  /** Returns whether the address is no longer used. */
  #remove(address: string, service: string): boolean {
    const services = this.#byAddress.get(address);
    services?.delete(service);
    if (services?.size === 0) this.#byAddress.delete(address);
    return services?.size === 0;
  }
}
