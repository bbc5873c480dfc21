import { familyOf } from '../../api/addresses.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { View } from '../merge/merged.ts';
import type { Actual } from '../project/desired.ts';
import { isOurs } from '../project/labels.ts';
import type { AllocatorOptions, VipState } from '../vip/allocator.ts';
import { AddressAllocator } from '../vip/allocator.ts';
import { poolOf } from '../vip/pool.ts';

const unneeded: VipState = { state: 'unneeded' };

/**
 * Allocates the supercluster IPs of one cluster, or of several that share them. The addresses of an import are adopted when
 * it is first seen, whether this or another controller wrote them; later differences are manual edits.
 */
export class Vips {
  readonly cidrs: readonly string[];
  readonly #allocator: AddressAllocator;
  /** Services whose addresses are in an import. */
  readonly #confirmed = new Set<string>();
  /** Services that wait for an address. */
  readonly #waiting = new Set<string>();

  constructor(cidrs: readonly string[], options: AllocatorOptions = {}) {
    this.cidrs = cidrs;
    this.#allocator = new AddressAllocator(poolOf(cidrs), options);
  }

  /** Adopts the addresses in imports of this controller, the oldest first. */
  adopt(imports: readonly (ImportedService | ServiceImport)[]): void {
    const claims = imports.filter(isOurs).map((object) => ({
      key: `${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`,
      ips: ipsOf(object),
      since: object.metadata.creationTimestamp ?? '',
    }));
    const stated = claims.filter(({ ips }) => ips.length > 0);
    const refused = new Set(this.#allocator.adopt(stated).map(({ key }) => key));
    for (const { key } of stated) if (!refused.has(key)) this.#confirmed.add(key);
  }

  /** Allocates or returns the addresses of a service; without a view it keeps those that its imports have. */
  addressesFor(key: string, view: View | undefined, actual: Actual): VipState {
    const objects = [actual.serviceImport, actual.importedService].flatMap((object) =>
      object !== undefined && isOurs(object) ? [object] : [],
    );
    const stated = objects.find((object) => ipsOf(object).length > 0);
    if (stated !== undefined && !this.#confirmed.has(key)) {
      this.#allocator.release(key);
      this.adopt([stated]);
    }
    if (view?.type === 'Headless') return unneeded;
    const families = view?.families ?? ipsOf(stated).flatMap((ip) => familyOf(ip) ?? []);
    if (families.length === 0) return unneeded;
    const vip = this.#allocator.reserve(key, families);
    if (vip.state === 'exhausted') this.#waiting.add(key);
    else this.#waiting.delete(key);
    return vip;
  }

  /** The result of `addressesFor` for a new service, without an allocation. */
  preview(key: string, view: View | undefined): VipState {
    return view === undefined || view.type === 'Headless' ? unneeded : this.#allocator.preview(key, view.families);
  }

  /** Whether a service has an address. */
  has(key: string): boolean {
    return this.#allocator.holds(key);
  }

  /** Releases the addresses of a service, and returns the services that wait for one (MCS-45). */
  release(key: string): readonly string[] {
    this.#waiting.delete(key);
    const isFreed = this.has(key);
    this.#allocator.release(key);
    this.#confirmed.delete(key);
    return isFreed ? [...this.#waiting] : [];
  }
}

/** The addresses in an import. */
function ipsOf(object: ImportedService | ServiceImport | undefined): readonly string[] {
  const spec: { readonly ip?: string; readonly ips?: readonly string[] } = object?.spec ?? {};
  return spec.ips ?? (spec.ip === undefined || spec.ip === '' ? [] : [spec.ip]);
}
