// What changed in zones from serial to serial, for those who keep copies (RFC 1995).
import type { Name, RecordType, RecordSet } from '../../dnswire/data.ts';
import type { Zone, Zones } from '../records/zones.ts';
import { printData } from '../message/print.ts';

/** One step of a zone: what it lost and what it got between two serials. */
export interface ZoneChange {
  readonly from: RecordSet;
  readonly to: RecordSet;
  readonly removed: readonly RecordSet[];
  readonly added: readonly RecordSet[];
}

export interface JournalOptions {
  /** How many records all steps of a zone may have together before the oldest is forgotten; 100,000 by default. */
  readonly maxRecords?: number;
}

type Sets = ReadonlyMap<RecordType, RecordSet>;

interface ZoneHistory {
  soa: RecordSet;
  readonly changes: ZoneChange[];
  records: number;
}

/** The serial that a SOA set says. */
export const serialOf = ({ data: [soa] }: RecordSet): number => (soa?.type === 'SOA' ? soa.serial : 0);

const none: Sets = new Map();

/**
 * Remembers the last changes of all zones. It holds every name's records as they were, so it is made only where
 * somebody may ask for changes.
 */
export class Journal {
  readonly #zones: Zones;
  readonly #maxRecords: number;
  /** Name → its records when they were last looked at. */
  readonly #known = new Map<Name, Sets>();
  /** Apex → what happened. */
  readonly #histories = new Map<Name, ZoneHistory>();

  constructor(zones: Zones, { maxRecords = 100_000 }: JournalOptions = {}) {
    this.#zones = zones;
    this.#maxRecords = maxRecords;
    for (const zone of zones.zones) {
      this.#histories.set(zone.apex, { soa: zone.soa(), changes: [], records: 0 });
      for (const name of zones.names(zone.apex)) this.#known.set(name, this.#setsOf(name));
    }
  }

  /** Notes what became of names, which `Zones.put` returned; returns the zones that have changed. */
  record(changed: Iterable<Name>): readonly Zone[] {
    const differences = Map.groupBy(this.#differences(changed), ({ apex }) => apex);
    const zones = this.#zones.zones.filter((zone) => {
      const history = this.#histories.get(zone.apex);
      return history !== undefined && serialOf(zone.soa()) !== serialOf(history.soa);
    });
    for (const zone of zones) this.#append(zone, differences.get(zone.apex) ?? []);
    return zones;
  }

  /** The steps that lead from a serial to the present; undefined if they are not known (any more). */
  since(apex: Name, serial: number): readonly ZoneChange[] | undefined {
    const changes = this.#histories.get(apex)?.changes ?? [];
    const first = changes.findIndex(({ from }) => serialOf(from) === serial);
    return first === -1 ? undefined : changes.slice(first);
  }

  *#differences(changed: Iterable<Name>): Iterable<Difference & { readonly apex: Name }> {
    for (const name of new Set(changed)) {
      const zone = this.#zones.zoneOf(name);
      if (zone === undefined) continue;
      const now = this.#setsOf(name);
      const { removed, added } = difference(this.#known.get(name) ?? none, now);
      if (now.size === 0) this.#known.delete(name);
      else this.#known.set(name, now);
      yield { apex: zone.apex, removed, added };
    }
  }

  #setsOf(name: Name): Sets {
    const node = this.#zones.find(name);
    // What is made on demand is in no zone that is transferred.
    const sets = new Map(node?.onDemand === true ? [] : node?.sets);
    // Its own SOA opens and closes every step.
    sets.delete('SOA');
    return sets;
  }

  #append(zone: Zone, differences: readonly Difference[]): void {
    const history = this.#histories.get(zone.apex);
    if (history === undefined) return;
    const removed = differences.flatMap((each) => each.removed);
    const added = differences.flatMap((each) => each.added);
    const change = { from: history.soa, to: zone.soa(), removed, added };
    history.soa = change.to;
    history.changes.push(change);
    history.records += recordsIn(change);
    while (history.records > this.#maxRecords) {
      const oldest = history.changes.shift();
      if (oldest === undefined) break;
      history.records -= recordsIn(oldest);
    }
  }
}

/** Two for the SOA records that open each half. */
const recordsIn = ({ removed, added }: ZoneChange): number =>
  [...removed, ...added].reduce((sum, { data }) => sum + data.length, 2);

interface Difference {
  readonly removed: readonly RecordSet[];
  readonly added: readonly RecordSet[];
}

function difference(before: Sets, after: Sets): Difference {
  const minus = (one: Sets, other: Sets): RecordSet[] =>
    [...one.values()].flatMap((set) => {
      const kept = other.get(set.type);
      const same = new Set(kept?.ttl === set.ttl ? kept.data.map(printData) : []);
      const data = set.data.filter((each) => !same.has(printData(each)));
      return data.length === 0 ? [] : [{ ...set, data }];
    });
  return { removed: minus(before, after), added: minus(after, before) };
}
