// Allocates supercluster IPs (MCS-40 to MCS-45): one allocator per cluster, or one for all clusters (MCS-41).
import type { IpFamily } from '../../api/addresses.ts';
import { canonicalAddress, familyOf } from '../../api/addresses.ts';
import { compareText } from '../../api/order.ts';
import type { Pool } from './pool.ts';
import { freeAddress, sizeOf } from './pool.ts';

/** The result of an allocation. */
export type VipState =
  /** One address per family, in the order of the families. */
  | { readonly state: 'reserved'; readonly ips: readonly string[]; readonly families: readonly IpFamily[] }
  /** The range of this family has no free address. */
  | { readonly state: 'exhausted'; readonly family: IpFamily; readonly message: string }
  /** None of the families of the service has a range. */
  | { readonly state: 'unsupported'; readonly message: string }
  /** The derived Service that provides the address has not been written. */
  | { readonly state: 'pending' }
  /** The service is headless or not exported. */
  | { readonly state: 'unneeded' };

/** The addresses in an existing import. */
export interface Claim {
  /** The service, as `namespace/name`. */
  readonly key: string;
  readonly ips: readonly string[];
  /** When the import was created: of two claims to one address the older wins. */
  readonly since: string;
}

export interface AllocatorOptions {
  /** Whether an address is in use outside the allocator, as by a Service whose range overlaps. Default: none is. */
  readonly isInUse?: (ip: string) => boolean;
}

/**
 * The addresses of services. The existing imports are the source of truth: `adopt` restores the allocations from them
 * after a restart (MCS-44).
 */
export class AddressAllocator {
  readonly #pool: Pool;
  readonly #isInUse: (ip: string) => boolean;
  /** Service → its addresses in canonical form, at most one per family. */
  readonly #held = new Map<string, ReadonlyMap<IpFamily, string>>();
  /** Address → its service. */
  readonly #holders = new Map<string, string>();

  constructor(pool: Pool, { isInUse = () => false }: AllocatorOptions = {}) {
    this.#pool = pool;
    this.#isInUse = isInUse;
  }

  /**
   * Allocates the addresses of existing imports, also those outside the pool, whose range may have changed. Returns the
   * claims that lost to an older one; their services get another address from `reserve`.
   */
  adopt(claims: readonly Claim[]): readonly Claim[] {
    const order = claims.toSorted(
      (left, right) => compareText(left.since, right.since) || compareText(left.key, right.key),
    );
    return order.filter(({ key, ips }) => {
      const wanted = ips.flatMap((ip) => canonicalAddress(ip) ?? []);
      const free = wanted.filter((ip) => (this.#holders.get(ip) ?? key) === key);
      for (const ip of free) this.#hold(key, ip);
      return free.length < wanted.length;
    });
  }

  /** Returns the addresses of a service and allocates one for each family that has none. Idempotent. */
  reserve(key: string, families: readonly IpFamily[]): VipState {
    const supported = families.filter((family) => this.#held.get(key)?.has(family) || sizeOf(this.#pool, family) > 0n);
    if (supported.length === 0) {
      return { state: 'unsupported', message: `there is no supercluster IP range of family ${families.join(' or ')}` };
    }
    this.#releaseExcept(key, supported);
    for (const family of supported) {
      if (this.#held.get(key)?.has(family)) continue;
      const ip = freeAddress(this.#pool, { key, family }, (each) => this.isTaken(each));
      if (ip !== undefined) this.#hold(key, ip);
      // A service with an address in another family is served without this one.
      else if (!this.#held.has(key)) return exhausted(family, sizeOf(this.#pool, family));
    }
    const held = this.#held.get(key) ?? new Map<IpFamily, string>();
    const given = supported.filter((family) => held.has(family));
    return { state: 'reserved', ips: given.flatMap((family) => held.get(family) ?? []), families: given };
  }

  /** The result of `reserve`, without allocating. */
  preview(key: string, families: readonly IpFamily[]): VipState {
    const before = this.#held.get(key);
    const vip = this.reserve(key, families);
    this.release(key);
    for (const ip of before?.values() ?? []) this.#hold(key, ip);
    return vip;
  }

  /** Releases the addresses of a service. */
  release(key: string): void {
    this.#releaseExcept(key, []);
  }

  /** Whether a service has an address. */
  holds(key: string): boolean {
    return this.#held.has(key);
  }

  /** Whether an address in canonical form cannot be allocated. */
  isTaken(ip: string): boolean {
    return this.#holders.has(ip) || this.#isInUse(ip);
  }

  #hold(key: string, ip: string): void {
    const family = familyOf(ip);
    const held = this.#held.get(key);
    if (family === undefined || held?.has(family)) return;
    this.#held.set(key, new Map([...(held ?? []), [family, ip]]));
    this.#holders.set(ip, key);
  }

  #releaseExcept(key: string, families: readonly IpFamily[]): void {
    const held = this.#held.get(key);
    if (held === undefined) return;
    const kept = [...held].filter(([family]) => families.includes(family));
    for (const [family, ip] of held) if (!families.includes(family)) this.#holders.delete(ip);
    if (kept.length === 0) this.#held.delete(key);
    else if (kept.length < held.size) this.#held.set(key, new Map(kept));
  }
}

/** MCS-45 */
const exhausted = (family: IpFamily, size: bigint): VipState => ({
  state: 'exhausted',
  family,
  message: `all ${size} supercluster IPs of family ${family} are in use: widen the range, or withdraw a service`,
});
