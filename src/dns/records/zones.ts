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
  /** Milliseconds since 1970, from which serials start; the machine's clock by default. */
  readonly now?: () => number;
  /**
   * Makes the records of a name below a dynamic one when it is asked for; undefined: it does not exist. `encloser` is the
   * dynamic name.
   */
  readonly onDemand?: (name: Name, encloser: Name, zones: Zones) => readonly RecordSet[] | undefined;
}

/**
 * All names that this server answers for, put together from what many sources say (`Service/default/web`).
 *
 * A name exists if a source speaks of it or a name below it exists, up to the apex of its zone, which always exists: so
 * NXDOMAIN is said of a whole subtree only where it is true (RFC 8020, RFC 4592 §2.2.2). A source makes a name exist
 * without records by a set without data.
 */
export class Zones {
  /** Apex → zone. */
  readonly #zones = new Map<Name, ServedZone>();
  /** Name → who says something of it; most names have one source. */
  readonly #names = new Map<Name, SourceRecords | readonly SourceRecords[]>();
  /** Name → how many names exist directly below it. */
  readonly #children = new Map<Name, number>();
  /** Source → what it says. */
  readonly #sources = new Map<string, SourceRecords>();
  /** The few kinds of sets that there are. */
  readonly #stamps: SharedFields[] = [];
  readonly #onDemand: ZonesOptions['onDemand'];

  constructor(zones: readonly ZoneOptions[], { now = Date.now, onDemand }: ZonesOptions = {}) {
    this.#onDemand = onDemand;
    // An apex inside another zone is one of its names, so the outer zones must be known first.
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
    for (const _ of this.#unspoken()) size++;
    return size;
  }

  /**
   * Replaces what a source said before. Names outside all zones are left out. Returns the names whose answer may have
   * changed: also those that came into or went out of existence by it, and owners of the source's SRV and NS records to a
   * name that changed, whose addresses come along with them.
   */
  put(source: string, sets: readonly SourceSet[], dynamic: readonly Name[] = []): readonly Name[] {
    const statements = this.#sources.get(source) ?? new SourceRecords(source);
    const zoneOf = this.#zoneFinder();
    const said = this.#said(source, sets, dynamic).filter(({ owner }) => zoneOf(owner) !== undefined);
    const { now, added, removed } = difference(statements, said);
    if (added.length === 0 && removed.length === 0) return none;
    statements.replace(now);
    if (now.length === 0) this.#sources.delete(source);
    else this.#sources.set(source, statements);
    const changed = new Set([...added, ...removed].map(({ owner }) => owner));
    for (const zone of new Set([...changed].map(zoneOf))) zone?.touch();
    // Additions first, so that what is above a name that is replaced stays.
    for (const { owner } of added) this.#speak(owner, statements, changed);
    for (const { owner } of removed) if (!statements.has(owner)) this.#silence(owner, statements, changed);
    for (const owner of this.leadingTo(changed, source)) changed.add(owner);
    return [...changed];
  }

  /** The owners of SRV and NS records of a source that lead to one of some names. */
  leadingTo(names: ReadonlySet<Name>, source: string): readonly Name[] {
    const found: Name[] = [];
    const statements = this.#sources.get(source);
    for (let index = 0; statements !== undefined && index < statements.size; index++) {
      const said = statements.at(index);
      if (targetsOf(said).some((target) => names.has(target))) found.push(said.owner);
    }
    return found;
  }

  /** Forgets what a source said; returns what `put` does. */
  delete(source: string): readonly Name[] {
    return this.put(source, []);
  }

  /** The deepest zone that a name is in, whether it exists or not. */
  zoneOf(name: Name): Zone | undefined {
    return this.#zoneAbove(name);
  }

  /** A name that exists; one that is made on demand is made now. */
  find(name: Name): ZoneNode | undefined {
    return this.#exists(name) ? this.#node(name) : this.#demand(name);
  }

  /** The closest name at or above a name that exists; undefined outside all zones. */
  closest(name: Name): ZoneNode | undefined {
    let at: Name | undefined = name;
    while (at !== undefined && !this.#exists(at)) at = parentOf(at);
    return at === undefined ? undefined : this.#node(at);
  }

  /** All names of a zone that exist, the apex first; what is made on demand is not among them. */
  *names(apex: Name): Iterable<Name> {
    const zone = this.#zones.get(apex);
    if (zone === undefined) return;
    yield apex;
    const isInside = (name: Name): boolean => name !== apex && isWithin(name, apex) && this.#zoneAbove(name) === zone;
    for (const name of this.#names.keys()) if (isInside(name)) yield name;
    for (const name of this.#unspoken()) if (isInside(name)) yield name;
  }

  /** Who says something, in no order. */
  sources(): Iterable<string> {
    return this.#sources.keys();
  }

  #node(name: Name): ZoneNode {
    const said = listOf(this.#names.get(name)).flatMap((statements) => statements.of(name));
    const findZone = (): Zone => {
      const zone = this.#zoneAbove(name);
      if (zone === undefined) throw new Error(`bug: "${name}" exists outside all zones`);
      return zone;
    };
    const node = new SourcedNode(name, said, { findZone });
    return this.#zones.has(name) ? withSoa(node) : node;
  }

  #demand(name: Name): ZoneNode | undefined {
    if (this.#onDemand === undefined) return undefined;
    const encloser = this.closest(name);
    if (encloser === undefined || !encloser.dynamic) return undefined;
    const sets = this.#onDemand(name, encloser.name, this);
    if (sets === undefined) return undefined;
    const source = encloser.sources()[0] ?? '';
    const said = sets.map((set) => this.#statement(source, set));
    return new SourcedNode(name, said, { findZone: () => encloser.zone, onDemand: true });
  }

  #exists(name: Name): boolean {
    return this.#names.has(name) || this.#children.has(name) || this.#zones.has(name);
  }

  /** Names that exist although nothing is said of them. */
  *#unspoken(): Iterable<Name> {
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

  /** As `zoneOf`, for names of which many are siblings. */
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

  /** What a source says by its sets, sorted. */
  #said(source: string, sets: readonly SourceSet[], dynamic: readonly Name[]): readonly SourceRecord[] {
    const said = sets.map((set) => this.#statement(source, set));
    const stamp = this.#stamp('dynamic', 0, 0);
    for (const owner of dynamic) said.push({ source, owner, stamp, data: none });
    return said.sort(compareSourceRecords);
  }

  #statement(source: string, { owner, type, ttl, rank = 0, data }: SourceSet): SourceRecord {
    return { source, owner, stamp: this.#stamp(type, ttl, rank), data: packAll(data) };
  }

  #stamp(type: SharedFields['type'], ttl: number, rank: number): SharedFields {
    const known = this.#stamps.find((each) => each.type === type && each.ttl === ttl && each.rank === rank);
    if (known !== undefined) return known;
    const stamp = { type, ttl, rank };
    this.#stamps.push(stamp);
    return stamp;
  }

  /** A source says something of a name. */
  #speak(name: Name, statements: SourceRecords, changed: Set<Name>): void {
    const before = listOf(this.#names.get(name));
    if (before.includes(statements)) return;
    const existed = this.#exists(name);
    this.#names.set(name, before.length === 0 ? statements : [...before, statements]);
    if (!existed) this.#appear(name, changed);
  }

  /** A source says nothing of a name any more. */
  #silence(name: Name, statements: SourceRecords, changed: Set<Name>): void {
    const before = listOf(this.#names.get(name));
    if (!before.includes(statements)) return;
    const rest = before.filter((other) => other !== statements);
    const [only] = rest;
    if (only === undefined) this.#names.delete(name);
    else this.#names.set(name, rest.length === 1 ? only : rest);
    if (!this.#exists(name)) this.#disappear(name, changed);
  }

  /** A name has come into existence, and with it those above it that did not exist. */
  #appear(name: Name, changed: Set<Name>): void {
    const parent = this.#above(name);
    if (parent === undefined) return;
    const existed = this.#exists(parent);
    this.#children.set(parent, (this.#children.get(parent) ?? 0) + 1);
    if (existed) return;
    changed.add(parent);
    this.#appear(parent, changed);
  }

  /** The name above, if it is in a zone: what is above an apex is so only in a zone around it. */
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
