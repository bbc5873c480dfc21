// Answers to AXFR and IXFR (RFC 5936, RFC 1995), message by message.
import { classes, types } from '../../../dnswire/codes.ts';
import type { RawRecord } from '../../../dnswire/record.ts';
import { maxZoneRecords } from '../provider.ts';
import { serialOf, ZoneMirror } from './mirror.ts';

/** A sequence of an incremental transfer. */
interface Difference {
  readonly deleted: RawRecord[];
  readonly added: RawRecord[];
}

/** The answer is not a transfer. */
export class TransferError extends Error {
  override readonly name = 'TransferError';
}

/** Collects the records of a transfer. */
export class Transfer {
  /** What is known of the zone; undefined: an AXFR was requested. */
  readonly #base: ZoneMirror | undefined;
  #soa: RawRecord | undefined;
  #form: 'unknown' | 'whole' | 'differences' = 'unknown';
  readonly #records: RawRecord[] = [];
  readonly #differences: Difference[] = [];
  #isAdding = false;
  #isComplete = false;
  #count = 0;

  constructor(base: ZoneMirror | undefined) {
    this.#base = base;
  }

  /** Adds the answer section of the next message. */
  add(answers: readonly RawRecord[]): void {
    for (const record of answers) {
      if (this.#isComplete) throw new TransferError('records follow the end of the transfer');
      if (record.class === classes.IN) this.#addRecord(record);
      if (++this.#count > maxZoneRecords) throw new TransferError(`the zone has more than ${maxZoneRecords} records`);
    }
    // A message with one SOA and nothing after it: the zone has not changed (RFC 1995 §2).
    if (this.#count === 1 && this.#base !== undefined && this.#base.serial === this.#serial) this.#isComplete = true;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Whether the answer is one SOA of an older serial, such as that of a restored backup: an AXFR is needed. */
  get isElsewhere(): boolean {
    const [known, serial] = [this.#base?.serial, this.#serial];
    return (
      this.#count === 1 && known !== undefined && serial !== undefined && serial !== known && !isNewer(serial, known)
    );
  }

  /** Whether the zone is as it was known. */
  get isEmpty(): boolean {
    return this.#isComplete && this.#count === 1;
  }

  /** The zone after the transfer: a new mirror, or the known one with the differences. */
  result(): ZoneMirror {
    if (!this.#isComplete || this.#soa === undefined) throw new TransferError('the transfer is incomplete');
    if (this.isEmpty && this.#base !== undefined) return this.#base;
    if (this.#form === 'whole') return ZoneMirror.of(this.#soa, this.#records);
    if (this.#base === undefined) throw new TransferError('the server sent differences of an unknown zone');
    const soa = this.#soa;
    for (const { deleted, added } of this.#differences) this.#base.advance(soa, deleted, added);
    return this.#base;
  }

  get #serial(): number | undefined {
    return this.#soa && serialOf(this.#soa);
  }

  #addRecord(record: RawRecord): void {
    const isSoa = record.type === types.SOA;
    if (this.#soa === undefined) {
      if (!isSoa || serialOf(record) === undefined) throw new TransferError('the transfer does not begin with a SOA');
      this.#soa = record;
      return;
    }
    // The second record decides: a SOA begins differences, unless it ends a zone that has nothing else.
    if (this.#form === 'unknown') this.#form = isSoa && serialOf(record) !== this.#serial ? 'differences' : 'whole';
    if (this.#form === 'whole') this.#addToZone(record, isSoa);
    else this.#addToDifference(record, isSoa);
  }

  #addToZone(record: RawRecord, isSoa: boolean): void {
    if (isSoa) this.#isComplete = true;
    else this.#records.push(record);
  }

  #addToDifference(record: RawRecord, isSoa: boolean): void {
    const last = this.#differences.at(-1);
    if (!isSoa) {
      if (last === undefined) throw new TransferError('differences do not begin with a SOA');
      (this.#isAdding ? last.added : last.deleted).push(record);
      return;
    }
    // SOA new, (SOA old, deletions, SOA next, additions)…, SOA new.
    if (last !== undefined && !this.#isAdding) {
      last.added.push(record);
      this.#isAdding = true;
      return;
    }
    if (last !== undefined && serialOf(record) === this.#serial) {
      this.#isComplete = true;
      return;
    }
    const expected = last === undefined ? this.#base?.serial : serialOf(last.added[0] ?? record);
    if (serialOf(record) !== expected) throw new TransferError('the differences do not continue the known serial');
    this.#differences.push({ deleted: [record], added: [] });
    this.#isAdding = false;
  }
}

/** Whether a serial follows another (RFC 1982): serials wrap. */
const isNewer = (serial: number, than: number): boolean => (serial - than) >>> 0 < 2 ** 31;
