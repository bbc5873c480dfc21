// A copy of a zone, kept up to date by transfers.
import { typeName } from '../../../dnswire/codes.ts';
import type { Name, SoaData } from '../../../dnswire/data.ts';
import type { RawRecord } from '../../../dnswire/record.ts';
import { readData } from '../../../dnswire/record.ts';
import { printBytes, printData } from '../../../dnswire/text.ts';
import type { RecordSet, ZoneContent } from '../../plan/record-set.ts';
import { recordSet } from '../../plan/record-set.ts';

/** A set as it was transferred. */
export interface MirroredSet {
  readonly ttl: number;
  readonly data: readonly Uint8Array[];
}

/** Data in zone file format, also of types that are not known. */
export function dataText(type: number, data: Uint8Array): string {
  const known = readData(type, data);
  return known === undefined ? printBytes(data) : printData(known);
}

/** A copy of a zone. */
export class ZoneMirror {
  #soa: RawRecord;
  /** Name → type → its set. */
  readonly #sets = new Map<Name, Map<number, MirroredSet>>();
  /** Name → its sets as the plan reads them; the same objects while they do not change. */
  readonly #content = new Map<Name, readonly RecordSet[]>();
  /** Names that have changed since they were taken; undefined: any. */
  #changed: Set<Name> | undefined;

  private constructor(soa: RawRecord) {
    this.#soa = soa;
  }

  /** A copy from all records of a zone. */
  static of(soa: RawRecord, records: Iterable<RawRecord>): ZoneMirror {
    const mirror = new ZoneMirror(soa);
    mirror.#change([], [soa, ...records]);
    return mirror;
  }

  /** The SOA record that the copy is of. */
  get soa(): RawRecord {
    return this.#soa;
  }

  get serial(): number {
    return serialOf(this.#soa) ?? 0;
  }

  /** Applies a difference. */
  advance(soa: RawRecord, deleted: readonly RawRecord[], added: readonly RawRecord[]): void {
    this.#soa = soa;
    this.#change(deleted, added);
  }

  get(name: Name, type: number): MirroredSet | undefined {
    return this.#sets.get(name)?.get(type);
  }

  get content(): ZoneContent {
    return this.#content;
  }

  /** The names that have changed since the last call; undefined: any. */
  takeChanged(): ReadonlySet<Name> | undefined {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  #change(deleted: readonly RawRecord[], added: readonly RawRecord[]): void {
    const changed = new Set<Name>();
    for (const { owner, type, data } of deleted) {
      const known = this.#sets.get(owner)?.get(type);
      if (known === undefined) continue;
      changed.add(owner);
      this.#set(owner, type, { ttl: known.ttl, data: known.data.filter((each) => !isEqual(each, data)) });
    }
    for (const { owner, type, ttl, data } of added) {
      changed.add(owner);
      const known = this.#sets.get(owner)?.get(type)?.data ?? [];
      const isKnown = known.some((each) => isEqual(each, data));
      this.#set(owner, type, { ttl, data: isKnown ? known : [...known, data] });
    }
    for (const name of changed) {
      this.#print(name);
      this.#changed?.add(name);
    }
  }

  #set(name: Name, type: number, set: MirroredSet): void {
    const sets = this.#sets.get(name) ?? new Map<number, MirroredSet>();
    if (set.data.length > 0) sets.set(type, set);
    else sets.delete(type);
    if (sets.size > 0) this.#sets.set(name, sets);
    else this.#sets.delete(name);
  }

  #print(name: Name): void {
    const sets = [...(this.#sets.get(name) ?? [])].map(([type, { ttl, data }]) => {
      const printed = recordSet(name, typeName(type), { ttl, values: data.map((each) => dataText(type, each)) });
      // The plan caches its results by the identity of a set.
      return this.#content.get(name)?.find((known) => isSameSet(known, printed)) ?? printed;
    });
    if (sets.length > 0) this.#content.set(name, sets);
    else this.#content.delete(name);
  }
}

const isSameSet = (a: RecordSet, b: RecordSet): boolean =>
  a.type === b.type && a.ttl === b.ttl && a.values.join('\n') === b.values.join('\n');

const isEqual = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** The data of a SOA record. */
function soaOf({ type, data }: RawRecord): SoaData | undefined {
  const soa = readData(type, data);
  return soa?.type === 'SOA' ? soa : undefined;
}

/** The serial of a SOA record. */
export const serialOf = (record: RawRecord): number | undefined => soaOf(record)?.serial;
