// A copy of a zone, kept up to date by transfers.
import { typeName } from '../../../dnswire/codes.ts';
import type { Name, SoaData } from '../../../dnswire/data.ts';
import type { RawRecord } from '../../../dnswire/record.ts';
import { readData } from '../../../dnswire/record.ts';
import { printBytes, printData } from '../../../dnswire/text.ts';
import { yieldToEventLoop } from '../../../machine/timers.ts';
import type { RecordSet, ZoneContent } from '../../plan/record-set.ts';
import { recordSet } from '../../plan/record-set.ts';

/** A set as it was transferred: its data as binary strings, which are smaller than arrays and found without a search. */
interface MirroredSet {
  ttl: number;
  readonly data: Set<string>;
}

/** Data in zone file format, also of types that are not known. */
export function dataText(type: number, data: Uint8Array): string {
  const known = readData(type, data);
  return known === undefined ? printBytes(data) : printData(known);
}

/** The names that are printed at once. */
const portion = 1000;

/** A copy of a zone. */
export class ZoneMirror {
  #soa: RawRecord | undefined;
  /** Name → type → its set. */
  readonly #sets = new Map<Name, Map<number, MirroredSet>>();
  /** Name → its sets as the plan reads them; the same objects while they do not change. */
  readonly #content = new Map<Name, readonly RecordSet[]>();
  /** Names whose records have changed since the content was printed. */
  readonly #unprinted = new Set<Name>();
  /** Names that have changed since they were taken; undefined: any. */
  #changed: Set<Name> | undefined;

  /** The SOA record that the copy is of. */
  get soa(): RawRecord {
    if (this.#soa === undefined) throw new Error('bug: the transfer has not ended');
    return this.#soa;
  }

  get serial(): number {
    return serialOf(this.soa) ?? 0;
  }

  add({ owner, type, ttl, data }: RawRecord): void {
    const sets = this.#sets.get(owner) ?? new Map<number, MirroredSet>();
    const set = sets.get(type) ?? { ttl, data: new Set() };
    set.ttl = ttl;
    set.data.add(textOf(data));
    this.#sets.set(owner, sets.set(type, set));
    this.#unprinted.add(owner);
  }

  delete({ owner, type, data }: RawRecord): void {
    const sets = this.#sets.get(owner);
    const set = sets?.get(type);
    if (sets === undefined || set?.data.delete(textOf(data)) !== true) return;
    if (set.data.size === 0) sets.delete(type);
    if (sets.size === 0) this.#sets.delete(owner);
    this.#unprinted.add(owner);
  }

  /** Takes over what was added and deleted, as the content with this SOA record. Large zones are printed in portions. */
  async finish(soa: RawRecord): Promise<void> {
    this.#soa = soa;
    let printed = 0;
    for (const name of this.#unprinted) {
      this.#print(name);
      this.#changed?.add(name);
      if (++printed % portion === 0) await yieldToEventLoop();
    }
    this.#unprinted.clear();
  }

  /** The data of a set; undefined: it does not exist. */
  dataOf(name: Name, type: number): readonly Uint8Array[] | undefined {
    const set = this.#sets.get(name)?.get(type);
    return set && [...set.data].map(bytesOf);
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

  #print(name: Name): void {
    const sets = [...(this.#sets.get(name) ?? [])].map(([type, { ttl, data }]) => {
      const values = [...data].map((each) => dataText(type, bytesOf(each)));
      const printed = recordSet(name, typeName(type), { ttl, values });
      // The plan caches its results by the identity of a set.
      return this.#content.get(name)?.find((known) => isSameSet(known, printed)) ?? printed;
    });
    if (sets.length > 0) this.#content.set(name, sets);
    else this.#content.delete(name);
  }
}

const textOf = (data: Uint8Array): string => Buffer.from(data).toString('latin1');
const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'latin1');

const isSameSet = (a: RecordSet, b: RecordSet): boolean =>
  a.type === b.type && a.ttl === b.ttl && a.values.join('\n') === b.values.join('\n');

/** The data of a SOA record. */
function soaOf({ type, data }: RawRecord): SoaData | undefined {
  const soa = readData(type, data);
  return soa?.type === 'SOA' ? soa : undefined;
}

/** The serial of a SOA record. */
export const serialOf = (record: RawRecord): number | undefined => soaOf(record)?.serial;
