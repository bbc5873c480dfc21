import type { Name, RecordType, RecordSet } from '../../dnswire/data.ts';
import { inOrder, merge } from './merge.ts';
import type { SourceRecord } from './packed.ts';
import { unpackAll } from './packed.ts';
import type { Zone } from './zone.ts';

/** A name that exists. Without sets it is an empty non-terminal: NODATA for every type. */
export interface ZoneNode {
  readonly name: Name;
  readonly zone: Zone;
  /** Type → all its records here; at an apex the SOA is among them. */
  readonly sets: ReadonlyMap<RecordType, RecordSet>;
  /** What is below is made on demand. */
  readonly dynamic: boolean;
  /** It was made for who asks: nobody tells when it changes, so it is not to be kept. */
  readonly onDemand: boolean;
  /** Who says something of this name, sorted; none where it exists only for what is below it. */
  sources(): readonly string[];
  /** Which source made which records. */
  explain(): readonly Explanation[];
}

/** The records of one type that one source has at a name. */
export interface Explanation {
  readonly source: string;
  readonly set: RecordSet;
}

/** A name as its sources describe it; what costs something is done when it is first looked at. */
export class SourcedNode implements ZoneNode {
  readonly name: Name;
  readonly onDemand: boolean;
  readonly #said: readonly SourceRecord[];
  readonly #findZone: () => Zone;
  #zone: Zone | undefined;
  #sets: ReadonlyMap<RecordType, RecordSet> | undefined;

  constructor(
    name: Name,
    said: readonly SourceRecord[],
    { findZone, onDemand = false }: { readonly findZone: () => Zone; readonly onDemand?: boolean },
  ) {
    this.name = name;
    this.onDemand = onDemand;
    this.#said = said;
    this.#findZone = findZone;
  }

  get zone(): Zone {
    this.#zone ??= this.#findZone();
    return this.#zone;
  }

  get sets(): ReadonlyMap<RecordType, RecordSet> {
    this.#sets ??= merge(this.#said);
    return this.#sets;
  }

  get dynamic(): boolean {
    return this.#said.some(({ stamp }) => stamp.type === 'dynamic');
  }

  sources(): readonly string[] {
    return [...new Set(this.#said.map(({ source }) => source))].toSorted();
  }

  explain(): readonly Explanation[] {
    return inOrder(this.#said).flatMap((said) => {
      const { type, ttl } = said.stamp;
      const data = unpackAll(said);
      if (type === 'dynamic' || data.length === 0) return [];
      return [{ source: said.source, set: { owner: said.owner, type, ttl, data } }];
    });
  }
}

/** An apex as its sources describe it, with its SOA. */
export function withSoa(node: SourcedNode): ZoneNode {
  const { name, zone } = node;
  return {
    name,
    zone,
    sets: new Map([...node.sets, ['SOA', zone.soa()]]),
    dynamic: node.dynamic,
    onDemand: node.onDemand,
    sources: () => node.sources(),
    explain: () => node.explain(),
  };
}
