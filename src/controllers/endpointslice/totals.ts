import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { Key } from '../../client/key.ts';
import type { SliceWrites } from '../slices.ts';
import { portsKey } from '../slices.ts';

/** What one Service adds to the totals. */
export interface Counted {
  readonly slices: number;
  /** How many slices would do if each were filled before another is begun. */
  readonly desiredSlices: number;
  readonly endpoints: number;
  /** Which endpoints the Service prefers; undefined: none. */
  readonly distribution: string | undefined;
}

/** Sums over all Services, kept by what each of them changes. */
export class SliceTotals {
  /** Service → what it adds. */
  readonly #counted = new Map<Key, Counted>();
  readonly #distributions = new Map<string, number>();
  slices = 0;
  desiredSlices = 0;
  endpoints = 0;

  /** Preference → how many Services have it; one that nobody has any more stays, with none. */
  get distributions(): ReadonlyMap<string, number> {
    return this.#distributions;
  }

  /** What a Service adds from now on. */
  set(key: Key, counted: Counted): void {
    this.forget(key);
    this.#counted.set(key, counted);
    this.#add(counted, 1);
  }

  forget(key: Key): void {
    const counted = this.#counted.get(key);
    if (counted === undefined) return;
    this.#counted.delete(key);
    this.#add(counted, -1);
  }

  /** Begins anew. */
  clear(): void {
    for (const key of this.#counted.keys()) this.forget(key);
  }

  #add({ slices, desiredSlices, endpoints, distribution }: Counted, sign: 1 | -1): void {
    this.slices += sign * slices;
    this.desiredSlices += sign * desiredSlices;
    this.endpoints += sign * endpoints;
    if (distribution === undefined) return;
    const name = known.has(distribution) ? distribution : 'ImplementationSpecific';
    this.#distributions.set(name, (this.#distributions.get(name) ?? 0) + sign);
  }
}

const known: ReadonlySet<string> = new Set(['PreferClose', 'PreferSameZone', 'PreferSameNode']);

/** What a Service adds whose slices were `before`, when `written` is written. */
export function counted(
  before: readonly EndpointSlice[],
  { create, update, remove }: SliceWrites,
  { max, distribution }: { readonly max: number; readonly distribution: string | undefined },
): Counted {
  const touched = new Set([...update, ...remove].map(({ metadata }) => metadata.name));
  const slices = [...before.filter(({ metadata }) => !touched.has(metadata.name)), ...create, ...update];
  const sizes = slices.length < 2 ? slices.map(sizeOf) : sizesByPorts(slices);
  return {
    slices: slices.length,
    // The placeholder of a Service without endpoints is one too.
    desiredSlices: sizes.reduce((sum, size) => sum + Math.max(1, Math.ceil(size / max)), 0),
    endpoints: sizes.reduce((sum, size) => sum + size, 0),
    distribution,
  };
}

const sizeOf = ({ endpoints }: EndpointSlice): number => endpoints?.length ?? 0;

/** Endpoints for each list of ports: they can share slices. */
function sizesByPorts(slices: readonly EndpointSlice[]): number[] {
  const groups = Map.groupBy(slices, ({ addressType, ports }) => `${addressType} ${portsKey(ports)}`);
  return Array.from(groups.values(), (group) => group.reduce((sum, slice) => sum + sizeOf(slice), 0));
}
