import type { Key } from '../../client/key.ts';
import { portsKey } from '../slices.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { SliceWrites } from '../slices.ts';

/** The contribution of one Service. */
export interface ServiceTotals {
  readonly slices: number;
  /** The minimum number of slices for the endpoints. */
  readonly desiredSlices: number;
  readonly endpoints: number;
  /** `spec.trafficDistribution`. */
  readonly distribution: string | undefined;
}

/** Totals over all Services, updated incrementally. */
export class SliceTotals {
  /** Service → its contribution. */
  readonly #services = new Map<Key, ServiceTotals>();
  readonly #distributions = new Map<string, number>();
  slices = 0;
  desiredSlices = 0;
  endpoints = 0;

  /** Traffic distribution → number of Services; entries stay when the number drops to zero. */
  get distributions(): ReadonlyMap<string, number> {
    return this.#distributions;
  }

  /** Sets the contribution of a Service. */
  set(key: Key, service: ServiceTotals): void {
    this.delete(key);
    this.#services.set(key, service);
    this.#add(service, 1);
  }

  delete(key: Key): void {
    const service = this.#services.get(key);
    if (service === undefined) return;
    this.#services.delete(key);
    this.#add(service, -1);
  }

  /** Removes all Services. */
  clear(): void {
    for (const key of this.#services.keys()) this.delete(key);
  }

  #add({ slices, desiredSlices, endpoints, distribution }: ServiceTotals, sign: 1 | -1): void {
    this.slices += sign * slices;
    this.desiredSlices += sign * desiredSlices;
    this.endpoints += sign * endpoints;
    if (distribution === undefined) return;
    const name = known.has(distribution) ? distribution : 'ImplementationSpecific';
    this.#distributions.set(name, (this.#distributions.get(name) ?? 0) + sign);
  }
}

const known: ReadonlySet<string> = new Set(['PreferClose', 'PreferSameZone', 'PreferSameNode']);

/** The contribution of a Service with the slices `before`, after the writes. */
export function contributionOf(
  before: readonly EndpointSlice[],
  { create, update, remove }: SliceWrites,
  { max, distribution }: { readonly max: number; readonly distribution: string | undefined },
): ServiceTotals {
  const touched = new Set([...update, ...remove].map(({ metadata }) => metadata.name));
  const slices = [...before.filter(({ metadata }) => !touched.has(metadata.name)), ...create, ...update];
  const sizes = slices.length < 2 ? slices.map(sizeOf) : sizesByPorts(slices);
  return {
    slices: slices.length,
    // A Service without endpoints has a placeholder slice.
    desiredSlices: sizes.reduce((sum, size) => sum + Math.max(1, Math.ceil(size / max)), 0),
    endpoints: sizes.reduce((sum, size) => sum + size, 0),
    distribution,
  };
}

const sizeOf = ({ endpoints }: EndpointSlice): number => endpoints?.length ?? 0;

/** The number of endpoints per list of ports, which can share slices. */
function sizesByPorts(slices: readonly EndpointSlice[]): number[] {
  const groups = Map.groupBy(slices, ({ addressType, ports }) => `${addressType} ${portsKey(ports)}`);
  return Array.from(groups.values(), (group) => group.reduce((sum, slice) => sum + sizeOf(slice), 0));
}
