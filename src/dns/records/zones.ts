import type { Name, RecordSet } from '../../dnswire/data.ts';
import { isWithin, parentOf } from '../../dnswire/name.ts';
import type { ZoneNode } from './node.ts';
import { SourcedNode, withSoa } from './node.ts';
import type { SourceRecord, SourceSet, SharedFields } from './packed.ts';
import { packAll, targetsOf } from './packed.ts';
import { compareSourceRecords, difference, SourceRecords } from './source-records.ts';
import type { Zone, ZoneOptions } from './zone.ts';
import { ServedZone } from './zone.ts';

export type { Explanation, ZoneNode } from './node.ts';
export type { SourceSet } from './packed.ts';
export type { Zone, ZoneOptions } from './zone.ts';

export interface ZonesOptions {
  /** Milliseconds since 1970, from which serials start; the system clock by default. */
  readonly now?: () => number;
  /**
   * Builds the records of a name below a dynamic one for a query; undefined: the name does not exist. `encloser` is the
   * dynamic name.
   */
  readonly onDemand?: (name: Name, encloser: Name, zones: Zones) => readonly RecordSet[] | undefined;
}

/**
 * All names that this server is authoritative for, merged from the records of many sources (`Service/default/web`).
 *
 * A name exists if a source has records at it or a name below it exists, up to the apex of its zone, which always exists:
 * NXDOMAIN holds for a whole subtree (RFC 8020, RFC 4592 §2.2.2). A source makes a name exist without records by a set
 * without data.
 */
export class Zones {
  /** Apex → zone. */
  readonly #zones = new Map<Name, ServedZone>();
  /** Name → the sources that have records there; most names have one. */
  readonly #names = new Map<Name, SourceRecords | readonly SourceRecords[]>();
  /** Name → how many names exist directly below it. */
  readonly #children = new Map<Name, number>();
  /** Source → its records. */
  readonly #sources = new Map<string, SourceRecords>();
  /** The distinct fields that all sets share. */
  readonly #sharedFields: SharedFields[] = [];
  readonly #onDemand: ZonesOptions['onDemand'];

  constructor(zones: readonly ZoneOptions[], { now = Date.now, onDemand }: ZonesOptions = {}) {
    this.#onDemand = onDemand;
    // The apex of an inner zone is a name of the outer zone, so outer zones must be added first.
    for (const options of zones.toSorted((one, other) => one.apex.length - other.apex.length)) {
      if (this.#zones.has(options.apex)) throw new Error(`zone "${options.apex}" is given twice: name it once`);
      const existed = this.#exists(options.apex);
      this.#zones.set(options.apex, new ServedZone(options, now));
      if (!existed) this.#appear(options.apex, new Set());
    }
  }

  /** The zones, outer ones before those inside them. */
  get zones(): readonly Zone[] {
    return [...this.#zones.values()];
  }

  /** How many names exist, apexes and empty non-terminals included. */
  get size(): number {
    let size = this.#names.size;
    for (const _ of this.#emptyNonTerminals()) size++;
    return size;
  }

  /**
   * Replaces the records of a source. Names outside all zones are ignored. Returns the names whose answers may have changed,
   * including names that start or stop to exist, and owners of the source's SRV and NS records whose targets changed, since
   * answers include the addresses of targets.
   */
  put(source: string, sets: readonly SourceSet[], dynamic: readonly Name[] = []): readonly Name[] {
    const records = this.#sources.get(source) ?? new SourceRecords(source);
    const zoneOf = this.#zoneFinder();
    const packed = this.#sourceRecords(source, sets, dynamic).filter(({ owner }) => zoneOf(owner) !== undefined);
    const { now, added, removed } = difference(records, packed);
    if (added.length === 0 && removed.length === 0) return none;
    records.replace(now);
    if (now.length === 0) this.#sources.delete(source);
    else this.#sources.set(source, records);
    const changed = new Set([...added, ...removed].map(({ owner }) => owner));
    for (const zone of new Set([...changed].map(zoneOf))) zone?.markChanged();
    // Additions first, so that the parents of a replaced name never disappear.
    for (const { owner } of added) this.#addSource(owner, records, changed);
    for (const { owner } of removed) if (!records.has(owner)) this.#removeSource(owner, records, changed);
    for (const owner of this.ownersTargeting(changed, source)) changed.add(owner);
    return [...changed];
  }

  /** The owners of a source's SRV and NS records whose target is one of these names. */
  ownersTargeting(names: ReadonlySet<Name>, source: string): readonly Name[] {
    const found: Name[] = [];
    const records = this.#sources.get(source);
    for (let index = 0; records !== undefined && index < records.size; index++) {
      const packed = records.at(index);
      if (targetsOf(packed).some((target) => names.has(target))) found.push(packed.owner);
    }
    return found;
  }

  /** Removes the records of a source; returns what `put` does. */
  delete(source: string): readonly Name[] {
    return this.put(source, []);
  }

  /** The innermost zone of a name, whether the name exists or not. */
  zoneOf(name: Name): Zone | undefined {
    return this.#zoneAbove(name);
  }

  /** A name that exists, built on demand if necessary. */
  find(name: Name): ZoneNode | undefined {
    return this.#exists(name) ? this.#node(name) : this.#findOnDemand(name);
  }

  /** The closest encloser: the name itself or its next existing parent; undefined outside all zones. */
  closest(name: Name): ZoneNode | undefined {
    let at: Name | undefined = name;
    while (at !== undefined && !this.#exists(at)) at = parentOf(at);
    return at === undefined ? undefined : this.#node(at);
  }

  /** All names of a zone, the apex first, without names that are built on demand. */
  *names(apex: Name): Iterable<Name> {
    const zone = this.#zones.get(apex);
    if (zone === undefined) return;
    yield apex;
    const isInside = (name: Name): boolean => name !== apex && isWithin(name, apex) && this.#zoneAbove(name) === zone;
    for (const name of this.#names.keys()) if (isInside(name)) yield name;
    for (const name of this.#emptyNonTerminals()) if (isInside(name)) yield name;
  }

  /** All sources, in no particular order. */
  sources(): Iterable<string> {
    return this.#sources.keys();
  }

  #node(name: Name): ZoneNode {
    const packed = listOf(this.#names.get(name)).flatMap((records) => records.of(name));
    const findZone = (): Zone => {
      const zone = this.#zoneAbove(name);
      if (zone === undefined) throw new Error(`bug: "${name}" exists outside all zones`);
      return zone;
    };
    const node = new SourcedNode(name, packed, { findZone });
    return this.#zones.has(name) ? withSoa(node) : node;
  }

  #findOnDemand(name: Name): ZoneNode | undefined {
    if (this.#onDemand === undefined) return undefined;
    const encloser = this.closest(name);
    if (encloser === undefined || !encloser.dynamic) return undefined;
    const sets = this.#onDemand(name, encloser.name, this);
    if (sets === undefined) return undefined;
    const source = encloser.sources()[0] ?? '';
    const packed = sets.map((set) => this.#pack(source, set));
    return new SourcedNode(name, packed, { findZone: () => encloser.zone, onDemand: true });
  }

  #exists(name: Name): boolean {
    return this.#names.has(name) || this.#children.has(name) || this.#zones.has(name);
  }

  /** Names that exist without records of their own. */
  *#emptyNonTerminals(): Iterable<Name> {
    for (const name of this.#children.keys()) if (!this.#names.has(name)) yield name;
    for (const name of this.#zones.keys()) if (!this.#names.has(name) && !this.#children.has(name)) yield name;
  }

  #zoneAbove(name: Name): ServedZone | undefined {
    let at: Name | undefined = name;
    while (at !== undefined) {
      const zone = this.#zones.get(at);
      if (zone !== undefined) return zone;
      at = parentOf(at);
    }
    return undefined;
  }

  /** A `zoneOf` that caches parents, for lists with many siblings. */
  #zoneFinder(): (name: Name) => ServedZone | undefined {
    /** Parent → its zone. */
    const known = new Map<Name, ServedZone | undefined>();
    return (name) => {
      const parent = parentOf(name);
      const own = this.#zones.get(name);
      if (own !== undefined || parent === undefined) return own;
      if (!known.has(parent)) known.set(parent, this.#zoneAbove(parent));
      return known.get(parent);
    };
  }

  /** The records of a source, sorted. */
  #sourceRecords(source: string, sets: readonly SourceSet[], dynamic: readonly Name[]): readonly SourceRecord[] {
    const packed = sets.map((set) => this.#pack(source, set));
    const fields = this.#shared('dynamic', 0, 0);
    for (const owner of dynamic) packed.push({ source, owner, fields, data: none });
    return packed.sort(compareSourceRecords);
  }

  #pack(source: string, { owner, type, ttl, rank = 0, data }: SourceSet): SourceRecord {
    return { source, owner, fields: this.#shared(type, ttl, rank), data: packAll(data) };
  }

  #shared(type: SharedFields['type'], ttl: number, rank: number): SharedFields {
    const known = this.#sharedFields.find((each) => each.type === type && each.ttl === ttl && each.rank === rank);
    if (known !== undefined) return known;
    const fields = { type, ttl, rank };
    this.#sharedFields.push(fields);
    return fields;
  }

  /** Registers a source at a name. */
  #addSource(name: Name, records: SourceRecords, changed: Set<Name>): void {
    const before = listOf(this.#names.get(name));
    if (before.includes(records)) return;
    const existed = this.#exists(name);
    this.#names.set(name, before.length === 0 ? records : [...before, records]);
    if (!existed) this.#appear(name, changed);
  }

  /** Removes a source from a name. */
  #removeSource(name: Name, records: SourceRecords, changed: Set<Name>): void {
    const before = listOf(this.#names.get(name));
    if (!before.includes(records)) return;
    const rest = before.filter((other) => other !== records);
    const [only] = rest;
    if (only === undefined) this.#names.delete(name);
    else this.#names.set(name, rest.length === 1 ? only : rest);
    if (!this.#exists(name)) this.#disappear(name, changed);
  }

  /** A name starts to exist, and with it its parents that did not exist. */
  #appear(name: Name, changed: Set<Name>): void {
    const parent = this.#above(name);
    if (parent === undefined) return;
    const existed = this.#exists(parent);
    this.#children.set(parent, (this.#children.get(parent) ?? 0) + 1);
    if (existed) return;
    changed.add(parent);
    this.#appear(parent, changed);
  }

  /** The parent of a name, unless the name is the apex of an outermost zone. */
  #above(name: Name): Name | undefined {
    const parent = parentOf(name);
    if (parent === undefined || !this.#zones.has(name)) return parent;
    return this.#zoneAbove(parent) === undefined ? undefined : parent;
  }

  #disappear(name: Name, changed: Set<Name>): void {
    const parent = this.#above(name);
    if (parent === undefined) return;
    const left = (this.#children.get(parent) ?? 0) - 1;
    if (left > 0) {
      this.#children.set(parent, left);
      return;
    }
    this.#children.delete(parent);
    if (this.#exists(parent)) return;
    changed.add(parent);
    this.#disappear(parent, changed);
  }
}

const none: readonly never[] = [];

const listOf = (one: SourceRecords | readonly SourceRecords[] | undefined): readonly SourceRecords[] => {
  if (one === undefined) return none;
  return one instanceof SourceRecords ? [one] : one;
};
