// Writes messages, with names compressed.
import type { Name, RecordData } from '../record.ts';
import { recordTypes } from '../record.ts';
import { classes, dnssecOkBit, types } from './codes.ts';
import type { Edns, Header, Question } from './message.ts';
import { encodeName, labelsOf, readName } from './name.ts';
import type { DataPiece, RawRecord } from './record.ts';
import { compressibleLayouts, encodeRecord, soaNumbers, uint16s } from './record.ts';

/** No message is longer, since TCP counts its length in two bytes. */
export const maxMessageBytes = 65_535;

/** A record of our own zones. */
export interface OwnRecord {
  readonly owner: Name;
  readonly ttl: number;
  readonly data: RecordData;
}

/** Pointers have 14 bits. */
const farthestPointer = 0x3fff;

/**
 * A message in the making. What does not fit below the limit, or cannot be written at all, is left out whole and
 * answered with false; what was written before stays as it is.
 */
export class MessageWriter {
  readonly #limit: number;
  /** Name → where it has been written. */
  readonly #offsets = new Map<Name, number>();
  #bytes = new Uint8Array(512);
  #length = 0;

  /** `limit`: how long the message may become. */
  constructor(limit: number = maxMessageBytes) {
    this.#limit = Math.min(limit, maxMessageBytes);
  }

  get length(): number {
    return this.#length;
  }

  /** Writes the header; it comes first, and once more when the counts are known. */
  header({ id, flags, questions, answers, authorities, additionals }: Header): boolean {
    const bytes = uint16s(id, flags, questions, answers, authorities, additionals);
    if (this.#length === 0) return this.#whole(() => this.#put(bytes));
    this.#bytes.set(bytes, 0);
    return true;
  }

  question({ name, type, class: questionClass }: Question): boolean {
    return this.#whole(() => this.#name(name) && this.#put(uint16s(type, questionClass)));
  }

  /** Writes a question as it was sent, in its own case; `name` is what it reads as. */
  rawQuestion(name: Name, bytes: Uint8Array): boolean {
    let at = this.#length;
    if (!this.#whole(() => this.#put(bytes))) return false;
    let suffix = name;
    for (const label of labelsOf(name)) {
      this.#remember(suffix, at);
      at += (this.#bytes[at] ?? 0) + 1;
      suffix = suffix.slice(label.length + 1);
    }
    return true;
  }

  record(record: OwnRecord): boolean {
    return this.#whole(() => this.#record(record));
  }

  rawRecord(record: RawRecord): boolean {
    return this.#whole(() => {
      const { owner, type, class: recordClass, ttl, data } = record;
      const layout = compressibleLayouts.get(type);
      return this.#fields(owner, type, recordClass, ttl, () => this.#rawData(data, layout ?? []));
    });
  }

  /** Writes bytes that need no look: records encoded before, say. */
  raw(bytes: Uint8Array): boolean {
    return this.#whole(() => this.#put(bytes));
  }

  opt({ version, size, dnssecOk, extendedRcode, options }: Edns): boolean {
    const ttl = extendedRcode * 0x100_0000 + (version << 16) + (dnssecOk ? dnssecOkBit : 0);
    const data = (): boolean =>
      options.every((option) => this.#put(uint16s(option.code, option.data.length)) && this.#put(option.data));
    return this.#whole(() => this.#fields('', types.OPT, size, ttl, data));
  }

  /** How far the message has come, to return to by `rewind`. */
  mark(): number {
    return this.#length;
  }

  /** Forgets what was written after a mark. */
  rewind(mark: number): void {
    this.#length = mark;
    for (const [name, offset] of this.#offsets) if (offset >= mark) this.#offsets.delete(name);
  }

  /** The message so far, in memory of its own. */
  bytes(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  #record({ owner, ttl, data }: OwnRecord): boolean {
    return this.#fields(owner, recordTypes[data.type], classes.IN, ttl, () => this.#data(data));
  }

  #data(data: RecordData): boolean {
    if (data.type === 'NS' || data.type === 'CNAME' || data.type === 'PTR') return this.#name(data.target);
    if (data.type === 'SOA') {
      const { primary, mailbox } = data;
      return this.#name(primary) && this.#name(mailbox) && this.#put(soaNumbers(data));
    }
    // RFC 2782: the target of an SRV is not compressed.
    const encoded = encodeRecord(data);
    return encoded !== undefined && this.#put(encoded);
  }

  #rawData(data: Uint8Array, layout: readonly DataPiece[]): boolean {
    let at = 0;
    for (const piece of layout) {
      if (piece === 'name') {
        const read = readName(data, at);
        if (read === undefined || !this.#name(read.name)) return false;
        at = read.end;
      } else if (typeof piece === 'number') {
        if (!this.#put(data.subarray(at, at + piece))) return false;
        at += piece;
      }
    }
    return this.#put(data.subarray(at));
  }

  #fields(owner: Name, type: number, recordClass: number, ttl: number, data: () => boolean): boolean {
    if (!this.#name(owner)) return false;
    if (!this.#put(uint16s(type, recordClass, Math.floor(ttl / 0x1_0000), ttl & 0xffff, 0))) return false;
    const start = this.#length;
    if (!data()) return false;
    const size = this.#length - start;
    this.#bytes[start - 2] = size >> 8;
    this.#bytes[start - 1] = size & 0xff;
    return true;
  }

  /** A name: the labels that are new, then a pointer to the rest where that has been written before. */
  #name(name: Name): boolean {
    const wire = encodeName(name);
    if (wire === undefined) return false;
    let suffix = name;
    let at = 0;
    for (const label of labelsOf(name)) {
      const known = this.#offsets.get(suffix);
      if (known !== undefined) return this.#put(wire.subarray(0, at)) && this.#put(uint16s(0xc000 | known));
      this.#remember(suffix, this.#length + at);
      at += (wire[at] ?? 0) + 1;
      suffix = suffix.slice(label.length + 1);
    }
    return this.#put(wire);
  }

  #remember(name: Name, offset: number): void {
    if (offset <= farthestPointer && !this.#offsets.has(name)) this.#offsets.set(name, offset);
  }

  /** All that `write` writes, or nothing of it. */
  #whole(write: () => boolean): boolean {
    const mark = this.mark();
    const isWritten = write();
    if (!isWritten) this.rewind(mark);
    return isWritten;
  }

  #put(bytes: Uint8Array): boolean {
    const end = this.#length + bytes.length;
    if (end > this.#limit) return false;
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(end, this.#bytes.length * 2));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.#length);
    this.#length = end;
    return true;
  }
}
