// Reads and writes the protobuf wire format: varints, tags and length-delimited fields.

import { ValueBudget } from './value-budget.ts';

/** The bytes are not the expected protobuf message. */
export class ProtobufError extends Error {
  readonly code = 'PROTOBUF';
}

export const wireTypes = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** Reads the fields of one message. Every read checks the bounds; all fields of a body count against one budget. */
export class WireReader {
  readonly #bytes: Uint8Array;
  #at: number;
  readonly #end: number;
  readonly budget: ValueBudget;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length, budget: ValueBudget = new ValueBudget()) {
    this.#bytes = bytes;
    this.budget = budget;
    this.#at = start;
    this.#end = end;
  }

  get done(): boolean {
    return this.#at >= this.#end;
  }

  /** Field number and wire type of the next field, encoded as on the wire. */
  tag(): number {
    this.budget.spend(1);
    const tag = Number(this.#varint());
    if (tag > 0x7fffffff || tag >>> 3 === 0) throw new ProtobufError(`illegal tag ${tag >>> 3} (wire type ${tag & 7})`);
    return tag;
  }

  /** A signed 64-bit integer; beyond 2^53 it loses precision, as every JSON number does. */
  int(): number {
    const value = this.#varint();
    return typeof value === 'number' ? value : Number(BigInt.asIntN(64, value));
  }

  /** A signed 32-bit integer; excess bits are dropped as in Go. */
  int32(): number {
    const value = this.#varint();
    return typeof value === 'number' ? value | 0 : Number(BigInt.asIntN(32, value));
  }

  /** A 64-bit integer without loss of precision, such as an ID. */
  int64(): bigint {
    return BigInt.asIntN(64, BigInt(this.#varint()));
  }

  double(): number {
    const start = this.#take(8);
    return new DataView(this.#bytes.buffer, this.#bytes.byteOffset + start, 8).getFloat64(0, true);
  }

  string(): string {
    return utf8.decode(this.bytes());
  }

  bytes(): Uint8Array {
    const length = this.#length();
    const start = this.#take(length);
    return this.#bytes.subarray(start, start + length);
  }

  /** The fields of an embedded message. */
  message(): WireReader {
    const length = this.#length();
    const start = this.#take(length);
    return new WireReader(this.#bytes, start, start + length, this.budget);
  }

  /** Skips a field of an unknown number. */
  skip(wireType: number): void {
    if (wireType === wireTypes.varint) this.#varint();
    else if (wireType === wireTypes.fixed64) this.#take(8);
    else if (wireType === wireTypes.bytes) this.#take(this.#length());
    else if (wireType === wireTypes.fixed32) this.#take(4);
    else throw new ProtobufError(`illegal wireType ${wireType}`);
  }

  #length(): number {
    const length = Number(this.#varint());
    if (length > this.#end - this.#at) throw new ProtobufError('unexpected EOF');
    return length;
  }

  #take(length: number): number {
    const start = this.#at;
    if (length > this.#end - start) throw new ProtobufError('unexpected EOF');
    this.#at = start + length;
    return start;
  }

  /** A number if the varint has at most 49 bits, which is ten times faster than a bigint. */
  #varint(): number | bigint {
    let value = 0;
    let scale = 1;
    for (let length = 0; length < 7; length++) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    let wide = BigInt(value);
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      wide |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, wide);
    }
    throw new ProtobufError('integer overflow');
  }

  #byte(): number {
    const byte = this.#at < this.#end ? this.#bytes[this.#at++] : undefined;
    if (byte === undefined) throw new ProtobufError('unexpected EOF');
    return byte;
  }
}

const initialBytes = 512;

/** Writes fields one after the other into one buffer, which grows as needed. */
export class WireWriter {
  #buffer = Buffer.allocUnsafe(initialBytes);
  #at = 0;

  int(number: number, value: number | bigint): void {
    this.#tag(number, wireTypes.varint);
    this.#varint(value);
  }

  double(number: number, value: number): void {
    this.#tag(number, wireTypes.fixed64);
    this.#at = this.#room(8).writeDoubleLE(value, this.#at);
  }

  string(number: number, value: string): void {
    const start = this.begin(number);
    this.#at += this.#room(3 * value.length).write(value, this.#at);
    this.end(start);
  }

  bytes(number: number, value: Uint8Array): void {
    this.header(number, value.length);
    this.raw(value);
  }

  /** Writes what precedes `length` bytes of a field. */
  header(number: number, length: number): void {
    this.#tag(number, wireTypes.bytes);
    this.#varint(length);
  }

  /** Appends bytes that are encoded already. */
  raw(value: Uint8Array): void {
    this.#room(value.length).set(value, this.#at);
    this.#at += value.length;
  }

  /** Starts an embedded message; `end` takes the result. */
  begin(number: number): number {
    this.#tag(number, wireTypes.bytes);
    this.#room(1);
    this.#at += 1; // for the length: one byte is enough for most messages
    return this.#at;
  }

  /** Ends the embedded message that starts at `start`, and writes its length before it. */
  end(start: number): void {
    const end = this.#at;
    const length = end - start;
    this.#at = start - 1;
    if (length < 0x80) {
      this.#buffer[this.#at] = length;
      this.#at = end;
      return;
    }
    const more = varintBytes(length) - 1;
    this.#at = end;
    this.#room(more).copyWithin(start + more, start, end);
    this.#at = start - 1;
    this.#varint(length);
    this.#at = end + more;
  }

  /** The bytes that were written. */
  finish(): Buffer<ArrayBuffer> {
    return Buffer.from(this.#buffer.subarray(0, this.#at));
  }

  #tag(number: number, wireType: number): void {
    this.#varint((number << 3) | wireType);
  }

  #varint(value: number | bigint): void {
    const buffer = this.#room(10);
    let rest = Number(value);
    if (rest < 0 || typeof value === 'bigint') {
      let wide = BigInt.asUintN(64, BigInt(value));
      for (; wide > 0x7fn; wide >>= 7n) buffer[this.#at++] = Number(wide & 0x7fn) | 0x80;
      rest = Number(wide);
    }
    for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) buffer[this.#at++] = (rest % 0x80) | 0x80;
    buffer[this.#at++] = rest;
  }

  /** The buffer, with room for `length` more bytes. */
  #room(length: number): Buffer {
    if (this.#at + length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(2 * this.#buffer.length, this.#at + length));
      this.#buffer.copy(larger, 0, 0, this.#at);
      this.#buffer = larger;
    }
    return this.#buffer;
  }
}

function varintBytes(value: number): number {
  let count = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 0x80)) count++;
  return count;
}
