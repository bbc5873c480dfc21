// Encodes messages with compressed names.
import type { Name, RecordData } from './data.ts';
import { recordTypes } from './data.ts';
import { classes, dnssecOkBit, types } from './codes.ts';
import type { Edns, Header, Question } from './message.ts';
import { headerBytes } from './message.ts';
import { encodeName, maxLabelBytes, maxNameBytes, parentOf, readName } from './name.ts';
import type { DataPiece, RawRecord } from './record.ts';
import { compressibleLayouts, encodeRecord, soaNumbers } from './record.ts';

/** The maximum size of a message: over TCP its length has two bytes. */
export const maxMessageBytes = 65_535;

/** A record of our own zones. */
export interface OwnRecord {
  readonly owner: Name;
  readonly ttl: number;
  readonly data: RecordData;
}

/** Compression pointers have 14 bits. */
const farthestPointer = 0x3fff;

/**
 * A message being written. Methods return false if an element does not fit below the limit or cannot be encoded; the
 * message is then unchanged.
 */
export class MessageWriter {
  #limit: number;
  /** Name → its offset in the message. */
  readonly #offsets = new Map<Name, number>();
  /** The name of the question. It owns most records, so its suffixes enter the map only when another name is written. */
  #questionName: Name | undefined;
  #isQuestionIndexed = false;
  // From Node's pool: a separate allocation costs more than writing a whole message.
  #bytes: Uint8Array = Buffer.allocUnsafe(512);
  #length = 0;
  /** The offset of the data of the record being written. */
  #dataStart = 0;

  /** `limit`: the maximum size of the message. */
  constructor(limit: number = maxMessageBytes) {
    this.#limit = Math.min(limit, maxMessageBytes);
  }

  get length(): number {
    return this.#length;
  }

  /** Raises the limit. */
  raiseLimit(limit: number): void {
    this.#limit = Math.min(limit, maxMessageBytes);
  }

  /** Writes the header: at first, and again when the counts are known. */
  header({ id, flags, questions, answers, authorities, additionals }: Header): boolean {
    const length = this.#length;
    if (length === 0 && !this.#hasRoom(headerBytes)) return false;
    this.#length = 0;
    this.#word(id);
    this.#word(flags);
    this.#word(questions);
    this.#word(answers);
    this.#word(authorities);
    this.#word(additionals);
    this.#length = Math.max(length, headerBytes);
    return true;
  }

  question({ name, type, class: questionClass }: Question): boolean {
    const mark = this.#length;
    return this.#orRewind(mark, this.#name(name) && this.#uint16(type) && this.#uint16(questionClass));
  }

  /** Copies a question as received; `name` is its parsed name. Must follow the header. */
  rawQuestion(name: Name, bytes: Uint8Array): boolean {
    if (this.#length !== headerBytes || !this.#put(bytes)) return false;
    this.#questionName = name;
    return true;
  }

  record({ owner, ttl, data }: OwnRecord): boolean {
    const mark = this.#length;
    const type = recordTypes[data.type];
    return this.#orRewind(mark, this.#fields(owner, type, classes.IN, ttl) && this.#data(data) && this.#close());
  }

  rawRecord({ owner, type, class: recordClass, ttl, data }: RawRecord): boolean {
    const mark = this.#length;
    // Records without data, as in UPDATE, have no names either.
    const layout = (data.length > 0 && compressibleLayouts.get(type)) || [];
    const isWritten = this.#fields(owner, type, recordClass, ttl) && this.#rawData(data, layout) && this.#close();
    return this.#orRewind(mark, isWritten);
  }

  /** Appends bytes, such as encoded records. */
  raw(bytes: Uint8Array): boolean {
    return this.#put(bytes);
  }

  opt({ version, size, dnssecOk, extendedRcode, options }: Edns): boolean {
    const mark = this.#length;
    const ttl = extendedRcode * 0x100_0000 + (version << 16) + (dnssecOk ? dnssecOkBit : 0);
    const writeOptions = (): boolean =>
      options.every(({ code, data }) => this.#uint16(code) && this.#uint16(data.length) && this.#put(data));
    return this.#orRewind(mark, this.#fields('', types.OPT, size, ttl) && writeOptions() && this.#close());
  }

  /** The current length, for `rewind`. */
  mark(): number {
    return this.#length;
  }

  /** Removes everything after a mark. */
  rewind(mark: number): void {
    this.#length = mark;
    for (const [name, offset] of this.#offsets) if (offset >= mark) this.#offsets.delete(name);
  }

  /** A copy of the message. */
  bytes(): Uint8Array {
    const bytes = new Uint8Array(this.#length);
    bytes.set(this.#bytes.subarray(0, this.#length));
    return bytes;
  }

  #data(data: RecordData): boolean {
    if (data.type === 'NS' || data.type === 'CNAME' || data.type === 'PTR') return this.#name(data.target);
    if (data.type === 'SOA') {
      return this.#name(data.primary) && this.#name(data.mailbox) && this.#put(soaNumbers(data));
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

  /** Writes the fields before the data of a record; then write the data and call `#close`. */
  #fields(owner: Name, type: number, recordClass: number, ttl: number): boolean {
    if (!this.#name(owner) || !this.#hasRoom(10)) return false;
    this.#word(type);
    this.#word(recordClass);
    this.#word(Math.floor(ttl / 0x1_0000));
    this.#word(ttl);
    this.#word(0);
    this.#dataStart = this.#length;
    return true;
  }

  /** Writes the length of the data since `#fields`. */
  #close(): true {
    const size = this.#length - this.#dataStart;
    this.#bytes[this.#dataStart - 2] = size >> 8;
    this.#bytes[this.#dataStart - 1] = size & 0xff;
    return true;
  }

  /** Writes the new labels of a name, then a pointer to the rest if it was written before. */
  #name(name: Name): boolean {
    if (name === '') return this.#byte(0);
    if (name === this.#questionName) return this.#uint16(0xc000 | headerBytes);
    this.#indexQuestion();
    const known = this.#offsets.get(name);
    if (known !== undefined) return this.#uint16(0xc000 | known);
    const wire = name.includes('\\') ? encodeName(name) : undefined;
    return wire === undefined ? this.#plainName(name) : this.#put(wire);
  }

  /** Writes a name without escapes label by label; false if it is malformed. */
  #plainName(name: Name): boolean {
    if (name.length + 2 > maxNameBytes) return false;
    let suffix = name;
    for (;;) {
      const dot = suffix.indexOf('.');
      const size = dot === -1 ? suffix.length : dot;
      if (size === 0 || size > maxLabelBytes) return false;
      this.#setOffset(suffix, this.#length);
      if (!this.#byte(size) || !this.#text(suffix, size)) return false;
      if (dot === -1) return this.#byte(0);
      suffix = suffix.slice(dot + 1);
      const known = this.#offsets.get(suffix);
      if (known !== undefined) return this.#uint16(0xc000 | known);
    }
  }

  /** Writes the first characters of a text; false if one is not allowed in a plain name. */
  #text(text: string, size: number): boolean {
    if (!this.#hasRoom(size)) return false;
    for (let index = 0; index < size; index++) {
      const byte = text.charCodeAt(index);
      if (byte <= 0x20 || byte >= 0x7f || byte === 0x5c) return false;
      this.#bytes[this.#length++] = byte;
    }
    return true;
  }

  #indexQuestion(): void {
    if (this.#isQuestionIndexed || this.#questionName === undefined) return;
    this.#isQuestionIndexed = true;
    let suffix: Name | undefined = this.#questionName;
    let at = headerBytes;
    while (suffix !== undefined && suffix !== '') {
      this.#setOffset(suffix, at);
      at += (this.#bytes[at] ?? 0) + 1;
      suffix = parentOf(suffix);
    }
  }

  #setOffset(name: Name, offset: number): void {
    if (offset <= farthestPointer && !this.#offsets.has(name)) this.#offsets.set(name, offset);
  }

  #orRewind(mark: number, isWritten: boolean): boolean {
    if (!isWritten) this.rewind(mark);
    return isWritten;
  }

  #byte(value: number): boolean {
    if (!this.#hasRoom(1)) return false;
    this.#bytes[this.#length++] = value;
    return true;
  }

  #uint16(value: number): boolean {
    if (!this.#hasRoom(2)) return false;
    this.#word(value);
    return true;
  }

  /** Writes two bytes without a check of the limit. */
  #word(value: number): void {
    this.#bytes[this.#length++] = (value >> 8) & 0xff;
    this.#bytes[this.#length++] = value & 0xff;
  }

  #put(bytes: Uint8Array): boolean {
    if (!this.#hasRoom(bytes.length)) return false;
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    return true;
  }

  #hasRoom(bytes: number): boolean {
    const end = this.#length + bytes;
    if (end > this.#limit) return false;
    if (end > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(end, this.#bytes.length * 2));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    return true;
  }
}
