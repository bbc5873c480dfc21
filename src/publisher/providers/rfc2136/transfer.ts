// Answers to AXFR and IXFR (RFC 5936, RFC 1995), message by message.
import { classes, types } from '../../../dnswire/codes.ts';
import type { RawRecord } from '../../../dnswire/record.ts';
import { maxZoneRecords } from '../provider.ts';
import { serialOf, ZoneMirror } from './mirror.ts';

/** The most bytes of names and data of a zone, or of its differences. */
const maxZoneBytes = 256 << 20;

/** The answer is not a transfer. */
export class TransferError extends Error {
  override readonly name = 'TransferError';
}

/** Applies the records of a transfer to a copy of the zone as they arrive. After an error that copy cannot be used. */
export class Transfer {
  /** What is known of the zone; undefined: an AXFR was requested. */
  readonly #base: ZoneMirror | undefined;
  #soa: RawRecord | undefined;
  /** The copy after the transfer: a new one, or the known one with the differences. */
  #mirror: ZoneMirror | undefined;
  #form: 'whole' | 'differences' = 'whole';
  /** Of the sequence of differences that is being read; undefined: none. */
  #phase: 'deleting' | 'adding' | undefined;
  /** The serial that the next sequence continues. */
  #reached: number | undefined;
  #isComplete = false;
  #count = 0;
  #bytes = 0;

  constructor(base: ZoneMirror | undefined) {
    this.#base = base;
    this.#reached = base?.serial;
  }

  /** Adds the answer section of the next message. */
  add(answers: readonly RawRecord[]): void {
    if (answers.length === 0) throw new TransferError('a message has no record');
    for (const record of answers) {
      if (this.#isComplete) throw new TransferError('records follow the end of the transfer');
      if (record.class === classes.IN) this.#addRecord(record);
      this.#bytes += record.owner.length + record.data.length;
      if (++this.#count > maxZoneRecords) throw new TransferError(`the zone has more than ${maxZoneRecords} records`);
      if (this.#bytes > maxZoneBytes) throw new TransferError(`the zone has more than ${maxZoneBytes >> 20} MiB`);
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

  /** The zone after the transfer. */
  async result(): Promise<ZoneMirror> {
    const mirror = this.isEmpty ? this.#base : this.#mirror;
    if (!this.#isComplete || this.#soa === undefined || mirror === undefined)
      throw new TransferError('the transfer is incomplete');
    await mirror.finish(this.#soa);
    return mirror;
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
    if (this.#mirror === undefined) this.#mirror = this.#begin(isSoa && serialOf(record) !== this.#serial);
    if (this.#form === 'differences') return this.#addToDifference(this.#mirror, record, isSoa);
    this.#mirror.add(record);
    this.#isComplete = isSoa;
  }

  #begin(isDifferences: boolean): ZoneMirror {
    this.#form = isDifferences ? 'differences' : 'whole';
    if (!isDifferences) return new ZoneMirror();
    if (this.#base === undefined) throw new TransferError('the server sent differences of an unknown zone');
    return this.#base;
  }

  /** SOA new, (SOA old, deletions, SOA next, additions)…, SOA new. */
  #addToDifference(mirror: ZoneMirror, record: RawRecord, isSoa: boolean): void {
    const serial = isSoa ? serialOf(record) : undefined;
    if (isSoa && this.#phase === 'deleting') {
      this.#phase = 'adding';
      this.#reached = serial;
    } else if (isSoa && this.#phase === 'adding' && serial === this.#serial) {
      this.#isComplete = true;
      return;
    } else if (isSoa) {
      if (serial !== this.#reached) throw new TransferError('the differences do not continue the known serial');
      this.#phase = 'deleting';
    }
    if (this.#phase === 'deleting') mirror.delete(record);
    else mirror.add(record);
  }
}

/** Whether a serial follows another (RFC 1982): serials wrap. */
const isNewer = (serial: number, than: number): boolean => (serial - than) >>> 0 < 2 ** 31;
