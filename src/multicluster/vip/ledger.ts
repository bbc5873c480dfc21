// Who has which address. There is one for each cluster, or one for all where addresses are supercluster-wide (MCS-41).
import type { IpFamily } from '../../api/addresses.ts';
import { canonicalAddress, familyOf } from '../../api/addresses.ts';
import type { Pool } from './pool.ts';
import { freeAddress, sizeOf } from './pool.ts';
import type { VipState } from './vip.ts';

/** What an import says its addresses are. */
export interface Claim {
  /** The service, as `namespace/name`. */
  readonly key: string;
  readonly ips: readonly string[];
  /** When the import was created: of two that claim one address, the older has it. */
  readonly since: string;
}

export interface LedgerOptions {
  /** Whether somebody else has an address, such as a Service whose range overlaps. Default: nobody has. */
  readonly isTakenByOthers?: (ip: string) => boolean;
}

/**
 * The addresses of services. It holds no truth of its own: it is filled from the imports that exist (`adopt`), which is
 * why an address outlives a restart (MCS-44).
 */
export class Ledger {
  readonly #pool: Pool;
  readonly #isTakenByOthers: (ip: string) => boolean;
  /** Service → its addresses, in canonical form, at most one a family. */
  readonly #held = new Map<string, ReadonlyMap<IpFamily, string>>();
  /** Address → its service. */
  readonly #holders = new Map<string, string>();

  constructor(pool: Pool, { isTakenByOthers = () => false }: LedgerOptions = {}) {
    this.#pool = pool;
    this.#isTakenByOthers = isTakenByOthers;
  }

  /**
   * Takes over what imports say. An address outside the pool is kept too: the pool may have been another. Claims that
   * came second are returned; their services get another address when they ask.
   */
  adopt(claims: readonly Claim[]): readonly Claim[] {
    const order = claims.toSorted((left, right) => compare(left.since, right.since) || compare(left.key, right.key));
    return order.filter(({ key, ips }) => {
      const wanted = ips.flatMap((ip) => canonicalAddress(ip) ?? []);
      const free = wanted.filter((ip) => (this.#holders.get(ip) ?? key) === key);
      for (const ip of free) this.#hold(key, ip);
      return free.length < wanted.length;
    });
  }

  /** The addresses of a service: those it has, and new ones for families it has none of. The same answer every time. */
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
      // One that has an address already goes on with it.
      else if (!this.#held.has(key)) return exhausted(family, sizeOf(this.#pool, family));
    }
    const held = this.#held.get(key) ?? new Map<IpFamily, string>();
    const given = supported.filter((family) => held.has(family));
    return { state: 'reserved', ips: given.flatMap((family) => held.get(family) ?? []), families: given };
  }

  /** What `reserve` would give, without holding it. */
  preview(key: string, families: readonly IpFamily[]): VipState {
    const before = this.#held.get(key);
    const vip = this.reserve(key, families);
    this.release(key);
    for (const ip of before?.values() ?? []) this.#hold(key, ip);
    return vip;
  }

  /** Gives back what a service has, once its import is gone. */
  release(key: string): void {
    this.#releaseExcept(key, []);
  }

  /** Whether a service has an address. */
  holds(key: string): boolean {
    return this.#held.has(key);
  }

  /** Whether an address, in canonical form, cannot be handed out. */
  isTaken(ip: string): boolean {
    return this.#holders.has(ip) || this.#isTakenByOthers(ip);
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

const compare = (left: string, right: string): number => (left === right ? 0 : left < right ? -1 : 1);
