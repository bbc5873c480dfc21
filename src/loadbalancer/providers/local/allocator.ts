import type { IpFamily } from '../../../api/addresses.ts';
import { familyOf, parseAddress, printAddress } from '../../../api/addresses.ts';
import { objectText } from '../../../api/text.ts';
import type { Fault } from '../../clouds/fault.ts';
import { fault } from '../../clouds/fault.ts';
import { portText } from '../../clouds/resource.ts';
import type { Pool, Range } from './pools.ts';
import type { AllocationRequest } from './allocation-request.ts';

/** The use of an address by a Service. */
interface Use {
  readonly ports: ReadonlySet<string>;
  readonly sharingKey: string;
  readonly backendKey: string;
}

/** A range with the state of the search for free addresses. */
interface PoolRange {
  readonly pool: Pool;
  readonly range: Range;
  next: bigint;
  /** Addresses in use. */
  used: bigint;
}

/**
 * Allocates addresses of pools to Services. Tracks (address, protocol, port), so that Services with the same sharing key can
 * share an address but not a port (LB-24). Its state can be rebuilt from the status of Services.
 */
export class Allocator {
  readonly #ranges: readonly PoolRange[];
  /** Address → Service → use. */
  readonly #uses = new Map<string, Map<string, Use>>();
  /** Service → addresses. */
  readonly #allocated = new Map<string, readonly string[]>();
  /** Sharing key → addresses. */
  readonly #shared = new Map<string, Set<string>>();

  constructor(pools: readonly Pool[]) {
    this.#ranges = pools.flatMap((pool) => pool.ranges.map((range) => ({ pool, range, next: range.first, used: 0n })));
  }

  /** The addresses allocated to a Service. */
  addressesOf(key: string): readonly string[] {
    return this.#allocated.get(key) ?? [];
  }

  /** Restores existing addresses of a Service, except those outside the pools or in conflict with other Services. */
  adopt(request: AllocationRequest, addresses: readonly string[]): void {
    this.release(request.key);
    const kept = addresses.filter((address) => this.#faultOf(address, request) === undefined);
    this.#assign(request, kept);
  }

  /** Allocates one address per family, preferring existing ones. Returns a fault, without changes, if that fails. */
  allocate(request: AllocationRequest): readonly string[] | Fault {
    const found: string[] = [];
    for (const family of request.families) {
      const address = this.#choose(family, request);
      if (typeof address === 'string') found.push(address);
      else if (found.length === 0 || !request.isSecondOptional) return address;
    }
    const stray = request.addresses.find((address) => !request.families.some((family) => familyOf(address) === family));
    if (stray !== undefined) {
      return fault('fairlead.dev/AddressUnknown', `"${stray}" is not an ${request.families.join(' or ')} address`);
    }
    this.release(request.key);
    this.#assign(request, found);
    return found;
  }

  /** Releases the addresses of a Service. */
  release(key: string): void {
    for (const address of this.addressesOf(key)) {
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
    this.#allocated.delete(key);
  }

  #unshare(sharingKey: string, address: string): void {
    const addresses = this.#shared.get(sharingKey);
    addresses?.delete(address);
    if (addresses?.size === 0) this.#shared.delete(sharingKey);
  }

  #assign(request: AllocationRequest, addresses: readonly string[]): void {
    if (addresses.length === 0) return;
    const { key, sharingKey, backendKey } = request;
    const use = { ports: new Set(request.ports.map(portText)), sharingKey, backendKey };
    for (const address of addresses) {
      if (!this.#uses.has(address)) this.#count(address, 1n);
      const uses = this.#uses.get(address) ?? new Map<string, Use>();
      this.#uses.set(address, uses.set(key, use));
      if (sharingKey === '') continue;
      this.#shared.set(sharingKey, (this.#shared.get(sharingKey) ?? new Set()).add(address));
    }
    this.#allocated.set(key, addresses);
  }

  #count(address: string, change: bigint): void {
    const place = this.#rangeOf(address);
    if (place !== undefined) place.used += change;
  }

  #choose(family: IpFamily, request: AllocationRequest): string | Fault {
    const requested = request.addresses.filter((address) => familyOf(address) === family);
    const [address] = requested;
    if (requested.length > 1) {
      return fault(
        'fairlead.dev/AddressUnknown',
        `only one ${family} address can be requested, not ${requested.join(' and ')}`,
      );
    }
    if (address !== undefined) return this.#faultOf(address, request) ?? address;
    const isOfFamily = (candidate: string): boolean => familyOf(candidate) === family;
    const sharable = [...(this.#shared.get(request.sharingKey) ?? [])];
    const known = [...this.addressesOf(request.key), ...(request.sharingKey === '' ? [] : sharable)].filter(isOfFamily);
    const kept = known.find(
      (candidate) => this.#isOffered(candidate, request) && this.#faultOf(candidate, request) === undefined,
    );
    return kept ?? this.#free(family, request);
  }

  /** Whether the pool of an address is the requested one or, without a request, automatic. */
  #isOffered(address: string, { pool }: AllocationRequest): boolean {
    const place = this.#rangeOf(address);
    return place !== undefined && (pool === '' ? place.pool.isAutomatic : place.pool.name === pool);
  }

  #free(family: IpFamily, { pool }: AllocationRequest): string | Fault {
    const ranges = this.#ranges.filter(
      (candidate) =>
        candidate.range.family === family && (pool === '' ? candidate.pool.isAutomatic : candidate.pool.name === pool),
    );
    for (const place of ranges) {
      const value = this.#nextFree(place);
      if (value !== undefined) return printAddress(family, value);
    }
    const where = pool === '' ? 'any automatic pool' : `pool "${pool}"`;
    const code = 'fairlead.dev/NoFreeAddress';
    const names = this.#poolNames();
    if (pool !== '' && !names.includes(pool))
      return fault(code, `there is no pool "${pool}": expected ${names.join(' or ') || 'none, no pool is configured'}`);
    if (ranges.length === 0)
      return fault(code, `there are no ${family} addresses in ${where}: add some, or request another pool`);
    return fault(code, `all ${family} addresses of ${where} are in use: add some, or share one with a sharing key`);
  }

  /** Continues after the last allocated address, so that released addresses are reused last. */
  #nextFree(place: PoolRange): bigint | undefined {
    const { first, last } = place.range;
    const size = last - first + 1n;
    if (place.used === size) return undefined; // fast path for retries of waiting Services
    // Every skipped address is in use, so the number of steps is bounded by the number of uses.
    for (let step = 0n; step < size; step++) {
      const value = first + ((place.next - first + step) % size);
      if (this.#uses.has(printAddress(place.range.family, value))) continue;
      place.next = value === last ? first : value + 1n;
      return value;
    }
    return undefined;
  }

  #poolNames(): readonly string[] {
    return [...new Set(this.#ranges.map(({ pool }) => pool.name))];
  }

  #rangeOf(text: string): PoolRange | undefined {
    const address = parseAddress(text);
    if (address === undefined) return undefined;
    return this.#ranges.find(
      ({ range }) => range.family === address.family && range.first <= address.value && address.value <= range.last,
    );
  }

  /** Why an address cannot be allocated. The Service that uses it is named only within the same namespace. */
  #faultOf(address: string, request: AllocationRequest): Fault | undefined {
    const place = this.#rangeOf(address);
    if (place === undefined)
      return fault(
        'fairlead.dev/AddressUnknown',
        `address ${address} is in no pool (pools: ${this.#poolNames().join(', ') || 'none'})`,
      );
    if (request.pool !== '' && place.pool.name !== request.pool) {
      const message = `address ${address} is in pool "${place.pool.name}", but pool "${request.pool}" was requested`;
      return fault('fairlead.dev/AddressUnknown', message);
    }
    const [namespace = ''] = request.key.split('/');
    for (const [key, use] of this.#uses.get(address) ?? []) {
      const isSameNamespace = key.startsWith(`${namespace}/`);
      const why = key === request.key ? undefined : whyNotShared(request, use, isSameNamespace);
      if (why !== undefined) {
        const holder = objectText('Service', key, namespace);
        return fault('fairlead.dev/AddressInUse', `address ${address} is in use by ${holder}: ${why}`);
      }
    }
    return undefined;
  }
}

/** Omits the sharing key of a Service in another namespace, since it would permit use of the address. */
function whyNotShared(request: AllocationRequest, use: Use, isSameNamespace: boolean): string | undefined {
  if (request.sharingKey === '') return 'this Service has no sharing key';
  if (use.sharingKey === '') return 'that Service has no sharing key';
  if (request.sharingKey !== use.sharingKey) {
    return isSameNamespace
      ? `its sharing key is "${use.sharingKey}", not "${request.sharingKey}"`
      : `its sharing key is not "${request.sharingKey}"`;
  }
  const port = request.ports.map(portText).find((text) => use.ports.has(text));
  if (port !== undefined) return `port ${port} is taken`;
  if (request.backendKey === use.backendKey) return undefined;
  return 'with externalTrafficPolicy Local both Services need that policy and the same selector';
}
