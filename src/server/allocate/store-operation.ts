import type { IpFamily, Service } from '../../api/kinds/core/service/schema.ts';
import { canonicalAddress, familyOf } from '../../api/addresses.ts';
import type { Write } from '../../store/store.ts';
import type { Claims } from './claims.ts';
import { addressClaim, isClaimOf, portClaim } from './claims.ts';
import { alreadyAllocated, count, networkMismatch, portOutOfRange } from './operation.ts';
import type { AllocationOperation, Conflict, ErrorBuilder, Resources } from './operation.ts';

/** The owner of the claims of one operation. */
export interface ClaimOwner {
  readonly service: Service;
  /** RFC 3339, whole seconds. */
  readonly now: string;
  /** A new UID for each IPAddress. */
  readonly uid: () => string;
}

interface Reservation {
  readonly claims: Claims;
  readonly key: string;
  /** The error if another server creates the claim first; undefined if any other address or port will do. */
  readonly refusal: (() => Conflict) | undefined;
}

/** An operation whose allocations create keys and whose releases delete keys. */
export class StoreOperation implements AllocationOperation {
  readonly writes: Write[] = [];
  readonly #resources: Resources;
  readonly #claimant: ClaimOwner;
  #reservations: Reservation[] = [];

  constructor(resources: Resources, claimant: ClaimOwner) {
    this.#resources = resources;
    this.#claimant = claimant;
  }

  allocateAddress(ip: string, wording: ErrorBuilder): void {
    const canonical = canonicalAddress(ip) ?? ip;
    const family = familyOf(ip) ?? 'IPv4';
    const range = this.#resources.ranges.get(family);
    // The pool contains neither the network address nor the last address of an IPv4 range.
    if (range === undefined || !range.pool.contains(canonical)) throw wording(networkMismatch);
    const { pool, counters } = range;
    if (!count(counters, 'static', pool.allocate(canonical))) throw wording(alreadyAllocated.address);
    this.#reserveAddress(canonical, family, () => wording(alreadyAllocated.address));
  }

  allocateNextAddress(family: IpFamily): string | undefined {
    const range = this.#resources.ranges.get(family);
    const ip = range?.pool.allocateNext(this.#resources.random);
    if (range !== undefined) count(range.counters, 'dynamic', ip !== undefined);
    if (ip !== undefined) this.#reserveAddress(ip, family);
    return ip;
  }

  releaseAddress(ip: string): void {
    const canonical = canonicalAddress(ip);
    if (canonical !== undefined) this.#release(this.#resources.addressClaims, canonical);
  }

  allocatePort(port: number, wording: ErrorBuilder): void {
    const { ports, portCounters } = this.#resources;
    if (!count(portCounters, 'static', ports.allocate(port))) {
      throw wording(ports.contains(port) ? alreadyAllocated.port : portOutOfRange(ports.range));
    }
    this.#reservePort(port, () => wording(alreadyAllocated.port));
  }

  allocateNextPort(): number | undefined {
    const { ports, portCounters, random } = this.#resources;
    const port = ports.allocateNext(random);
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
    if (reservation !== undefined) return reservation.refusal?.() ?? 'retry';
    // A claim to release has changed: the caller plans again.
    return this.writes.some((write) => write.key === key) ? 'retry' : undefined;
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
   * Keeps a claim that belongs to another Service. Deletes a claim that has not arrived here yet, since another server may
   * have created the Service.
   */
  #release(claims: Claims, name: string): void {
    const key = claims.prefix + name;
    const held = claims.held(key);
    if (held !== undefined && !isClaimOf(this.#claimant.service, held)) return;
    this.writes.push({ key, value: undefined, expect: held?.revision });
  }
}
