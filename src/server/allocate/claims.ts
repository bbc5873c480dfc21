import type { IpFamily, Service } from '../../api/kinds/core/service/schema.ts';
import { ipAddressKind } from '../../api/kinds/networking/ipaddress/kind.ts';
import type { Change, Entry } from '../../store/store.ts';
import { layoutOf } from '../cache/layout.ts';
import { storedForm } from '../cache/stored-form.ts';

/** The prefix of the IPAddress objects; the rest of a key is the canonical address. */
export const addressPrefix = '/registry/networking.k8s.io/ipaddresses/';

/** The prefix of the node port claims; the rest of a key is the port. */
export const portPrefix = '/registry/nodeports/';

/** The fields of an address claim that do not come from the Service. */
export interface AddressClaim {
  readonly ip: string;
  readonly family: IpFamily;
  readonly uid: string;
  /** RFC 3339, whole seconds. */
  readonly now: string;
}

/** Returns the stored IPAddress object that gives `ip` to a Service. */
export function addressClaim({ metadata }: Service, { ip, family, uid, now }: AddressClaim): string {
  // Built as text, since every create of a Service runs it. Only the two names need escaping.
  return (
    `{"kind":"IPAddress","apiVersion":"networking.k8s.io/v1","metadata":{"name":"${ip}","uid":"${uid}",` +
    `"creationTimestamp":"${now}","labels":{"ipaddress.kubernetes.io/ip-family":"${family}",` +
    `"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io"}},"spec":{"parentRef":{"resource":"services",` +
    `"namespace":${JSON.stringify(metadata.namespace ?? '')},"name":${JSON.stringify(metadata.name ?? '')}}}}`
  );
}

/** Returns the claim that gives a node port to a Service. */
export const portClaim = ({ metadata }: Service): string =>
  JSON.stringify({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' });

interface Parent {
  readonly namespace?: string;
  readonly name?: string;
  readonly spec?: { readonly parentRef?: Parent & { readonly group?: string; readonly resource?: string } };
}

/** The name of a Service. */
export interface ServiceName {
  readonly namespace: string;
  readonly name: string;
}

/** The Service that a claim belongs to; `other`: not to a Service; undefined: the claim is not readable. */
export function ownerOfClaim({ key, value }: Entry): ServiceName | 'other' | undefined {
  const isAddress = key.startsWith(addressPrefix);
  let parsed: Parent;
  try {
    // A kube-apiserver may have written the IPAddress.
    parsed = JSON.parse(isAddress ? storedForm(ipAddressKind, addressLayout, value) : value) as Parent;
  } catch {
    return undefined;
  }
  const { namespace = '', name = '', ...parent } = (isAddress ? parsed.spec?.parentRef : parsed) ?? {};
  const isService = !isAddress || ('resource' in parent && parent.resource === 'services');
  return isService ? { namespace, name } : 'other';
}

const addressLayout = layoutOf(ipAddressKind);

/** Whether a claim belongs to the Service. Another Service may own the key after the claim was deleted manually. */
export function isClaimOf({ metadata }: Pick<Service, 'metadata'>, claim: Entry): boolean {
  const owner = ownerOfClaim(claim);
  return typeof owner === 'object' && owner.namespace === metadata.namespace && owner.name === metadata.name;
}

/** The pool behind a set of claims. A name is the last part of the key of a claim. */
export interface ClaimedPool {
  claim(name: string): void;
  release(name: string): void;
}

/**
 * All claims under one prefix: those in the store, and those that plans reserve until their commit succeeds or fails.
 * The pool marks both as allocated.
 */
export class Claims {
  readonly prefix: string;
  readonly #pool: ClaimedPool;
  readonly #held = new Map<string, Entry>(); // key → claim in the store
  readonly #reserved = new Set<string>(); // keys

  constructor(prefix: string, pool: ClaimedPool) {
    this.prefix = prefix;
    this.#pool = pool;
  }

  /** The claim in the store, as far as its change has arrived here. */
  held(key: string): Entry | undefined {
    return this.#held.get(key);
  }

  /** The stored claims of a Service. */
  of(service: Pick<Service, 'metadata'>): readonly Entry[] {
    return [...this.#held.values()].filter((entry) => isClaimOf(service, entry));
  }

  /** Reserves a key that the pool has just allocated for a plan. */
  reserve(key: string): void {
    this.#reserved.add(key);
  }

  /** Ends a reservation. The pool releases the name unless the store has the claim. */
  drop(key: string): void {
    this.#reserved.delete(key);
    if (!this.#held.has(key)) this.#pool.release(key.slice(this.prefix.length));
  }

  /** Applies changes of the store. */
  apply(changes: readonly Change[]): void {
    for (const { key, entry } of changes) {
      if (entry === undefined) this.#remove(key);
      else this.#add(entry);
    }
  }

  /** Replaces all claims with those in the store. */
  replace(entries: readonly Entry[]): void {
    const keys = new Set(entries.map(({ key }) => key));
    for (const key of this.#held.keys()) if (!keys.has(key)) this.#remove(key);
    for (const entry of entries) this.#add(entry);
  }

  #add(entry: Entry): void {
    this.#held.set(entry.key, entry);
    this.#pool.claim(entry.key.slice(this.prefix.length));
  }

  #remove(key: string): void {
    this.#held.delete(key);
    if (!this.#reserved.has(key)) this.#pool.release(key.slice(this.prefix.length));
  }
}
