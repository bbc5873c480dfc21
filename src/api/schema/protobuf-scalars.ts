// Encodes and decodes scalars in protobuf. In memory every scalar is in its JSON form.

import { JsonError, parseJson } from './json.ts';
import type { ScalarSchema, StringSchema } from './schema.ts';
import type { WireReader, WireWriter } from './wire.ts';
import { ProtobufError, wireTypes } from './wire.ts';

export type LeafSchema = ScalarSchema | StringSchema;

/** The wire type of values of `schema`. */
export function wireTypeOf(schema: LeafSchema): number {
  if (schema.type === 'boolean' || schema.type === 'int32' || schema.type === 'int64') return wireTypes.varint;
  return schema.type === 'double' ? wireTypes.fixed64 : wireTypes.bytes;
}

/** Reads one value into its JSON form; null is the zero value of a time or of JSON. */
export function readLeaf(schema: LeafSchema, reader: WireReader): unknown {
  switch (schema.type) {
    case 'string':
      return reader.string();
    case 'boolean':
      return reader.int() !== 0;
    case 'int32':
      return reader.int32();
    case 'int64':
      return reader.int();
    case 'double':
      return reader.double();
    case 'bytes':
      return Buffer.from(reader.bytes()).toString('base64');
    case 'time':
      return readTimestamp(reader.message(), false);
    case 'microTime':
      return readTimestamp(reader.message(), true);
    case 'quantity':
      return readQuantity(reader.message());
    case 'intOrString':
      return readIntOrString(reader.message());
    case 'json':
      return readJson(reader.message());
  }
}

/** Writes one value, given in its JSON form. */
export function writeLeaf(writer: WireWriter, number: number, schema: LeafSchema, value: unknown): void {
  switch (schema.type) {
    case 'boolean':
      return writer.int(number, value === true ? 1 : 0);
    case 'int32':
    case 'int64':
      return writer.int(number, Number(value));
    case 'double':
      return writer.double(number, Number(value));
    case 'string':
      return writer.string(number, String(value));
    case 'bytes':
      return writer.bytes(number, Buffer.from(String(value), 'base64'));
    case 'time':
    case 'microTime':
      return writeTimestamp(writer, number, String(value));
    case 'quantity':
      return writeWrapped(writer, number, String(value));
    case 'intOrString':
      return writeIntOrString(writer, number, value);
    case 'json':
      return writeWrapped(writer, number, JSON.stringify(value));
  }
}

/** A message whose field 1 is the text. */
function writeWrapped(writer: WireWriter, number: number, text: string): void {
  const start = writer.begin(number);
  writer.string(1, text);
  writer.end(start);
}

/** Seconds and nanoseconds since 1970. Both zero is Go's zero time, not the epoch. */
function readTimestamp(reader: WireReader, withMicros: boolean): string | null {
  let seconds = 0;
  let nanos = 0;
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === 0x08) seconds = reader.int();
    else if (tag === 0x10) nanos = reader.int32();
    else reader.skip(tag & 7);
  }
  if (seconds === 0 && nanos === 0) return null;
  const text = Math.abs(seconds) < 1e12 ? new Date(seconds * 1000).toISOString() : '';
  if (text.length !== 24 || nanos < 0 || nanos > 999_999_999) throw new ProtobufError('time out of range');
  const micros = String(Math.trunc(nanos / 1000)).padStart(6, '0');
  return `${text.slice(0, 19)}${withMicros ? `.${micros}` : ''}Z`;
}

function writeTimestamp(writer: WireWriter, number: number, text: string): void {
  const start = writer.begin(number);
  writer.int(1, Date.parse(`${text.slice(0, 19)}Z`) / 1000);
  writer.int(2, Number(text.slice(20, 26).replace('Z', '') || 0) * 1000);
  writer.end(start);
}

function readQuantity(reader: WireReader): string {
  let text = '0';
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === 0x0a) text = reader.string();
    else reader.skip(tag & 7);
  }
  return text;
}

function readIntOrString(reader: WireReader): number | string {
  let type = 0;
  let int = 0;
  let string = '';
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === 0x08) type = reader.int();
    else if (tag === 0x10) int = reader.int32();
    else if (tag === 0x1a) string = reader.string();
    else reader.skip(tag & 7);
  }
  return type === 1 ? string : int;
}

function writeIntOrString(writer: WireWriter, number: number, value: unknown): void {
  const start = writer.begin(number);
  writer.int(1, typeof value === 'string' ? 1 : 0);
  writer.int(2, typeof value === 'number' ? value : 0);
  writer.string(3, typeof value === 'string' ? value : '');
  writer.end(start);
}

/** FieldsV1 and RawExtension: JSON text in field 1. */
function readJson(reader: WireReader): unknown {
  let text = '';
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === 0x0a) text = reader.string();
    else reader.skip(tag & 7);
  }
  try {
    return text === '' ? null : parseJson(text, reader.budget).value;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new ProtobufError(`embedded JSON is malformed: ${error.message}`, { cause: error });
  }
}
