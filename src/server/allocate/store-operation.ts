import type { IpFamily, Service } from '../../api/kinds/core/service/schema.ts';
import { canonicalAddress, familyOf } from '../../api/addresses.ts';
import type { Write } from '../../store/store.ts';
import type { Claims } from './claims.ts';
import { addressClaim, isClaimOf, portClaim } from './claim-values.ts';
import { count } from './counters.ts';
import type { Conflict, Operation, Wording } from './operation.ts';
import { alreadyAllocated, foreignNetwork, portOutOfRange } from './operation.ts';
import type { Resources } from './resources.ts';

/** Who makes the claims of one operation, and when. */
export interface Claimant {
  readonly service: Service;
  /** RFC 3339, whole seconds. */
  readonly now: string;
  /** A new UID for each IPAddress. */
  readonly uid: () => string;
}

interface Reservation {
  readonly claims: Claims;
  readonly key: string;
  /** What to answer when another server was faster; undefined when any other will do. */
  readonly refusal: (() => Conflict) | undefined;
}

/** An operation whose claims are keys that must not exist yet, and whose releases are keys to delete. */
export class StoreOperation implements Operation {
  readonly writes: Write[] = [];
  readonly #resources: Resources;
  readonly #claimant: Claimant;
  #reservations: Reservation[] = [];

  constructor(resources: Resources, claimant: Claimant) {
    this.#resources = resources;
    this.#claimant = claimant;
  }

  claimAddress(ip: string, wording: Wording): void {
    const canonical = canonicalAddress(ip) ?? ip;
    const family = familyOf(ip) ?? 'IPv4';
    const range = this.#resources.ranges.get(family);
    // The address of the network itself, and the last one of IPv4, belong to no range either.
    if (range === undefined || !range.pool.contains(canonical)) throw wording(foreignNetwork);
    const { pool, counters } = range;
    if (!count(counters, 'static', pool.claim(canonical))) throw wording(alreadyAllocated.address);
    this.#reserveAddress(canonical, family, () => wording(alreadyAllocated.address));
  }

  takeAddress(family: IpFamily): string | undefined {
    const range = this.#resources.ranges.get(family);
    const ip = range?.pool.take(this.#resources.random);
    if (range !== undefined) count(range.counters, 'dynamic', ip !== undefined);
    if (ip !== undefined) this.#reserveAddress(ip, family);
    return ip;
  }

  releaseAddress(ip: string): void {
    const canonical = canonicalAddress(ip);
    if (canonical !== undefined) this.#release(this.#resources.addressClaims, canonical);
  }

  claimPort(port: number, wording: Wording): void {
    const { ports, portCounters } = this.#resources;
    if (!count(portCounters, 'static', ports.claim(port))) {
      throw wording(ports.contains(port) ? alreadyAllocated.port : portOutOfRange(ports.range));
    }
    this.#reservePort(port, () => wording(alreadyAllocated.port));
  }

  takePort(): number | undefined {
    const { ports, portCounters, random } = this.#resources;
    const port = ports.take(random);
    count(portCounters, 'dynamic', port !== undefined);
    if (port !== undefined) this.#reservePort(port);
    return port;
  }

  releasePort(port: number): void {
    this.#release(this.#resources.portClaims, `${port}`);
  }

  settle(): void {
    for (const { claims, key } of this.#reservations) claims.drop(key);
    this.#reservations = [];
  }

  conflictFor(key: string): Conflict | undefined {
    const reservation = this.#reservations.find((other) => other.key === key);
    if (reservation !== undefined) return reservation.refusal?.() ?? 'plan again';
    // A claim to release that has changed meanwhile: it is looked at again.
    return this.writes.some((write) => write.key === key) ? 'plan again' : undefined;
  }

  #reserveAddress(ip: string, family: IpFamily, refusal?: () => Conflict): void {
    const { service, now, uid } = this.#claimant;
    const value = addressClaim(service, { ip, family, now, uid: uid() });
    this.#reserve({ claims: this.#resources.addressClaims, name: ip, value, refusal });
  }

  #reservePort(port: number, refusal?: () => Conflict): void {
    const value = portClaim(this.#claimant.service);
    this.#reserve({ claims: this.#resources.portClaims, name: `${port}`, value, refusal });
  }

  #reserve({ claims, name, value, refusal }: Omit<Reservation, 'key'> & { name: string; value: string }): void {
    const key = claims.prefix + name;
    claims.reserve(key);
    this.#reservations.push({ claims, key, refusal });
    this.writes.push({ key, value, expect: 0 });
  }

  /**
   * A claim that is known not to be the Service's own is left alone. One that is not known is deleted whatever it is:
   * the Service may have been created by another server, whose claim has not arrived here yet.
   */
  #release(claims: Claims, name: string): void {
    const key = claims.prefix + name;
    const held = claims.held(key);
    if (held !== undefined && !isClaimOf(this.#claimant.service, held)) return;
    this.writes.push({ key, value: undefined, expect: held?.revision });
  }
}
