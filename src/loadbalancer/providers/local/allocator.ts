import type { IpFamily } from '../../../api/addresses.ts';
import { familyOf, parseAddress, printAddress } from '../../../api/addresses.ts';
import { objectText } from '../../../api/text.ts';
import type { Fault } from '../../clouds/fault.ts';
import { fault } from '../../clouds/fault.ts';
import { portText } from '../../clouds/resource.ts';
import type { Pool, Range } from './pools.ts';
import type { AllocationRequest } from './allocation-request.ts';

/** How one Service uses an address. */
interface Use {
  readonly ports: ReadonlySet<string>;
  readonly sharingKey: string;
  readonly backendKey: string;
}

/** A range, and where in it the next search begins. */
interface PoolRange {
  readonly pool: Pool;
  readonly range: Range;
  next: bigint;
  /** How many of its addresses are in use. */
  used: bigint;
}

/**
 * Gives addresses of pools to Services. It holds (address, protocol, port), so that two Services can share an address
 * where they agree to, and never a port of it (LB-24). What it knows can be rebuilt from what Services say.
 */
export class Allocator {
  readonly #places: readonly PoolRange[];
  /** Address → Service → its use. */
  readonly #uses = new Map<string, Map<string, Use>>();
  /** Service → its addresses. */
  readonly #held = new Map<string, readonly string[]>();
  /** Sharing key → addresses that are used with it. */
  readonly #shared = new Map<string, Set<string>>();

  constructor(pools: readonly Pool[]) {
    this.#places = pools.flatMap((pool) => pool.ranges.map((range) => ({ pool, range, next: range.first, used: 0n })));
  }

  /** The addresses of a Service. */
  held(key: string): readonly string[] {
    return this.#held.get(key) ?? [];
  }

  /** Takes note of addresses that a Service has already; those of no pool, or in use by others, are not taken over. */
  adopt(wishes: AllocationRequest, addresses: readonly string[]): void {
    this.release(wishes.key);
    const kept = addresses.filter((address) => this.#faultOf(address, wishes) === undefined);
    this.#hold(wishes, kept);
  }

  /** Gives a Service one address a family: those it has if they will do. What is refused changes nothing. */
  allocate(wishes: AllocationRequest): readonly string[] | Fault {
    const found: string[] = [];
    for (const family of wishes.families) {
      const address = this.#choose(family, wishes);
      if (typeof address === 'string') found.push(address);
      else if (found.length === 0 || !wishes.isSecondOptional) return address;
    }
    const stray = wishes.addresses.find((address) => !wishes.families.some((family) => familyOf(address) === family));
    if (stray !== undefined) {
      return fault('fairlead.dev/AddressUnknown', `"${stray}" is no ${wishes.families.join(' or ')} address`);
    }
    this.release(wishes.key);
    this.#hold(wishes, found);
    return found;
  }

  /** Gives back what a Service has. */
  release(key: string): void {
    for (const address of this.held(key)) {
      const uses = this.#uses.get(address);
      const sharingKey = uses?.get(key)?.sharingKey ?? '';
      uses?.delete(key);
      if (uses?.size === 0) {
        this.#uses.delete(address);
        this.#count(address, -1n);
      }
      const others = uses === undefined ? [] : [...uses.values()];
      if (!others.some((use) => use.sharingKey === sharingKey)) this.#unshare(sharingKey, address);
    }
    this.#held.delete(key);
  }

  #unshare(sharingKey: string, address: string): void {
    const addresses = this.#shared.get(sharingKey);
    addresses?.delete(address);
    if (addresses?.size === 0) this.#shared.delete(sharingKey);
  }

  #hold(wishes: AllocationRequest, addresses: readonly string[]): void {
    if (addresses.length === 0) return;
    const { key, sharingKey, backendKey } = wishes;
    const use = { ports: new Set(wishes.ports.map(portText)), sharingKey, backendKey };
    for (const address of addresses) {
      if (!this.#uses.has(address)) this.#count(address, 1n);
      const uses = this.#uses.get(address) ?? new Map<string, Use>();
      this.#uses.set(address, uses.set(key, use));
      if (sharingKey === '') continue;
      this.#shared.set(sharingKey, (this.#shared.get(sharingKey) ?? new Set()).add(address));
    }
    this.#held.set(key, addresses);
  }

  #count(address: string, change: bigint): void {
    const place = this.#placeOf(address);
    if (place !== undefined) place.used += change;
  }

  #choose(family: IpFamily, wishes: AllocationRequest): string | Fault {
    const asked = wishes.addresses.filter((address) => familyOf(address) === family);
    const [address] = asked;
    if (asked.length > 1) {
      return fault('fairlead.dev/AddressUnknown', `one ${family} address can be asked for, not ${asked.join(' and ')}`);
    }
    if (address !== undefined) return this.#faultOf(address, wishes) ?? address;
    const isOfFamily = (candidate: string): boolean => familyOf(candidate) === family;
    const sharable = [...(this.#shared.get(wishes.sharingKey) ?? [])];
    const known = [...this.held(wishes.key), ...(wishes.sharingKey === '' ? [] : sharable)].filter(isOfFamily);
    const kept = known.find(
      (candidate) => this.#isOffered(candidate, wishes) && this.#faultOf(candidate, wishes) === undefined,
    );
    return kept ?? this.#free(family, wishes);
  }

  /** Whether a Service that asks for no address may have this one: its pool is the one asked for, or automatic. */
  #isOffered(address: string, { pool }: AllocationRequest): boolean {
    const place = this.#placeOf(address);
    return place !== undefined && (pool === '' ? place.pool.isAutomatic : place.pool.name === pool);
  }

  #free(family: IpFamily, { pool }: AllocationRequest): string | Fault {
    const places = this.#places.filter(
      (place) => place.range.family === family && (pool === '' ? place.pool.isAutomatic : place.pool.name === pool),
    );
    for (const place of places) {
      const value = this.#nextFree(place);
      if (value !== undefined) return printAddress(family, value);
    }
    const where = pool === '' ? 'any automatic pool' : `pool "${pool}"`;
    const code = 'fairlead.dev/NoFreeAddress';
    const names = this.#poolNames();
    if (pool !== '' && !names.includes(pool))
      return fault(code, `there is no pool "${pool}": there is ${names.join(', ') || 'none'}`);
    if (places.length === 0)
      return fault(code, `there are no ${family} addresses in ${where}: add some, or name another`);
    return fault(code, `all ${family} addresses of ${where} are in use: add some, or share one by a sharing key`);
  }

  /** From where the last search ended, once around: what was given back a moment ago comes last. */
  #nextFree(place: PoolRange): bigint | undefined {
    const { first, last } = place.range;
    const size = last - first + 1n;
    if (place.used === size) return undefined; // Services that wait for an address ask again and again
    // Every address that is passed over is in use, so that the walk is never longer than there are uses.
    for (let step = 0n; step < size; step++) {
      const value = first + ((place.next - first + step) % size);
      if (this.#uses.has(printAddress(place.range.family, value))) continue;
      place.next = value === last ? first : value + 1n;
      return value;
    }
    return undefined;
  }

  #poolNames(): readonly string[] {
    return [...new Set(this.#places.map(({ pool }) => pool.name))];
  }

  #placeOf(text: string): PoolRange | undefined {
    const address = parseAddress(text);
    if (address === undefined) return undefined;
    return this.#places.find(
      ({ range }) => range.family === address.family && range.first <= address.value && address.value <= range.last,
    );
  }

  /** Why a Service cannot have an address: the rule, and the Service that holds it, named only if both are of one namespace. */
  #faultOf(address: string, wishes: AllocationRequest): Fault | undefined {
    const place = this.#placeOf(address);
    if (place === undefined)
      return fault(
        'fairlead.dev/AddressUnknown',
        `address ${address} is in no pool: there is ${this.#poolNames().join(', ') || 'none'}`,
      );
    if (wishes.pool !== '' && place.pool.name !== wishes.pool) {
      const message = `address ${address} is of pool "${place.pool.name}", and pool "${wishes.pool}" is asked for`;
      return fault('fairlead.dev/AddressUnknown', message);
    }
    const [namespace = ''] = wishes.key.split('/');
    for (const [key, use] of this.#uses.get(address) ?? []) {
      const isOfNamespace = key.startsWith(`${namespace}/`);
      const why = key === wishes.key ? undefined : whyNotShared(wishes, use, isOfNamespace);
      if (why !== undefined) {
        const holder = objectText('Service', key, namespace);
        return fault('fairlead.dev/AddressInUse', `address ${address} is in use by ${holder}: ${why}`);
      }
    }
    return undefined;
  }
}

/** The sharing key of a Service of another namespace is left out: any Service with that key may use its address. */
function whyNotShared(wishes: AllocationRequest, use: Use, isOfNamespace: boolean): string | undefined {
  if (wishes.sharingKey === '') return 'this Service has no sharing key';
  if (use.sharingKey === '') return 'that Service has no sharing key';
  if (wishes.sharingKey !== use.sharingKey) {
    return isOfNamespace
      ? `its sharing key is "${use.sharingKey}", not "${wishes.sharingKey}"`
      : `its sharing key is not "${wishes.sharingKey}"`;
  }
  const port = wishes.ports.map(portText).find((text) => use.ports.has(text));
  if (port !== undefined) return `port ${port} is taken`;
  if (wishes.backendKey === use.backendKey) return undefined;
  return 'with externalTrafficPolicy Local both need that policy and the same selector';
}
