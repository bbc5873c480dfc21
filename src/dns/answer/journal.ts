// Changes of zones by serial, for incremental transfers (RFC 1995).
import type { Name, RecordType, RecordSet } from '../../dnswire/data.ts';
import type { Zone, Zones } from '../records/zones.ts';
import { printData } from '../../dnswire/text.ts';

/** The difference of a zone between two serials. */
export interface ZoneChange {
  readonly from: RecordSet;
  readonly to: RecordSet;
  readonly removed: readonly RecordSet[];
  readonly added: readonly RecordSet[];
}

export interface JournalOptions {
  /** The maximum number of records in all changes of a zone; the oldest are dropped beyond it. 100,000 by default. */
  readonly maxRecords?: number;
}

type Sets = ReadonlyMap<RecordType, RecordSet>;

interface ZoneHistory {
  soa: RecordSet;
  readonly changes: ZoneChange[];
  records: number;
}

/** The serial of a SOA set. */
export const serialOf = ({ data: [soa] }: RecordSet): number => (soa?.type === 'SOA' ? soa.serial : 0);

const none: Sets = new Map();

/**
 * Keeps the last changes of all zones. It holds a copy of every name's records, so it is created only if secondaries are
 * configured.
 */
export class Journal {
  readonly #zones: Zones;
  readonly #maxRecords: number;
  /** Name → its records at the last change. */
  readonly #known = new Map<Name, Sets>();
  /** Apex → its changes. */
  readonly #histories = new Map<Name, ZoneHistory>();

  constructor(zones: Zones, { maxRecords = 100_000 }: JournalOptions = {}) {
    this.#zones = zones;
    this.#maxRecords = maxRecords;
    for (const zone of zones.zones) {
      this.#histories.set(zone.apex, { soa: zone.soa(), changes: [], records: 0 });
      for (const name of zones.names(zone.apex)) this.#known.set(name, this.#setsOf(name));
    }
  }

  /** Records the changes of names that `Zones.put` returned; returns the zones that changed. */
  record(changed: Iterable<Name>): readonly Zone[] {
    const differences = Map.groupBy(this.#differences(changed), ({ apex }) => apex);
    const zones = this.#zones.zones.filter((zone) => {
      const history = this.#histories.get(zone.apex);
      return history !== undefined && serialOf(zone.soa()) !== serialOf(history.soa);
    });
    for (const zone of zones) this.#append(zone, differences.get(zone.apex) ?? []);
    return zones;
  }

  /** The changes from a serial to the current one; undefined if the journal does not reach back that far. */
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
    // Names built on demand are not transferred.
    const sets = new Map(node?.onDemand === true ? [] : node?.sets);
    // The SOA is added to each change separately.
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

/** Counts two for the SOA records of the change. */
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
