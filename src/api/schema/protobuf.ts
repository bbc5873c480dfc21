// Protobuf bodies by the field numbers of the schema. A message is read into the JSON form of its values and then goes
// through the same decoder as JSON, so that zero values, order and checks are the same for both.

import type { Decoded } from './decode.ts';
import { decode, DecodeError } from './decode.ts';
import type { JsonObject } from './json-object.ts';
import { isJsonObject, setField } from './json-object.ts';
import { readLeaf, wireTypeOf, writeLeaf } from './protobuf-scalars.ts';
import type { MapSchema, Schema, StructSchema } from './schema.ts';
import { ProtobufError, WireReader, WireWriter, wireTypes } from './wire.ts';

export { decodeEnvelope, encodeEnvelope } from './envelope.ts';
export type { Envelope } from './envelope.ts';
export { ProtobufError };

/** Decodes a message, such as an envelope's `raw`. Unknown field numbers are skipped. Throws a `ProtobufError` or a `TooManyValuesError`. */
export function decodeProtobuf<T = Readonly<Record<string, unknown>>>(schema: StructSchema, raw: Uint8Array): T {
  const value: JsonObject = {};
  readMessage(tableOf(schema), new WireReader(raw), value, 0);
  try {
    const { object }: Decoded<T> = decode(schema, value);
    return object;
  } catch (error) {
    // A number out of range or a malformed quantity: right on the wire, wrong for its type.
    throw error instanceof DecodeError ? new ProtobufError(error.message, { cause: error }) : error;
  }
}

/** The message of a decoded object. */
export function encodeProtobuf(schema: StructSchema, object: object): Uint8Array<ArrayBuffer> {
  const writer = new WireWriter();
  writeMessage(tableOf(schema), writer, object as JsonObject);
  return writer.finish();
}

/** What a field number stands for: a field, or a message whose fields JSON has inline. */
type Slot = { readonly name: string; readonly schema: Schema } | { readonly inline: Table };
type Table = Map<number, Slot>;

const tables = new WeakMap<StructSchema, Table>();
const maxDepth = 100;

function tableOf(schema: StructSchema): Table {
  const known = tables.get(schema);
  if (known !== undefined) return known;
  const table: Table = new Map();
  tables.set(schema, table);
  for (const [name, field] of Object.entries(schema.fields)) {
    if (field.number === 0) continue;
    const home = field.inline === undefined ? table : inlineTable(table, field.inline);
    home.set(field.number, { name, schema: field.schema });
  }
  return table;
}

function inlineTable(table: Table, number: number): Table {
  const slot = table.get(number);
  if (slot !== undefined && 'inline' in slot) return slot.inline;
  const inline: Table = new Map();
  table.set(number, { inline });
  return inline;
}

function readMessage(table: Table, reader: WireReader, target: JsonObject, depth: number): void {
  if (depth > maxDepth) throw new ProtobufError('message is nested too deeply');
  while (!reader.done) {
    const tag = reader.tag();
    const slot = table.get(tag >>> 3);
    if (slot === undefined) {
      reader.skip(tag & 7);
    } else if ('inline' in slot) {
      expectWireType(tag, wireTypes.bytes, 'inline');
      readMessage(slot.inline, reader.message(), target, depth + 1);
    } else {
      target[slot.name] = readField(slot, reader, tag, { previous: target[slot.name], depth });
    }
  }
}

function expectWireType(tag: number, wireType: number, name: string): void {
  if ((tag & 7) !== wireType) throw new ProtobufError(`wrong wireType = ${tag & 7} for field ${name}`);
}

interface Context {
  /** What an earlier field of the same number gave: lists and maps grow, messages merge. */
  readonly previous: unknown;
  readonly depth: number;
}

type FieldSlot = Extract<Slot, { schema: Schema }>;

function readField({ name, schema }: FieldSlot, reader: WireReader, tag: number, context: Context): unknown {
  if (schema.type === 'list') {
    const items: unknown[] = Array.isArray(context.previous) ? context.previous : [];
    readItems({ name, schema: schema.items }, reader, tag, { items, depth: context.depth });
    return items;
  }
  expectWireType(tag, wireTypeOfValue(schema), name);
  if (schema.type !== 'map') return readValue(schema, reader, context);
  const entries = isJsonObject(context.previous) ? context.previous : {};
  readEntry(schema, reader.message(), entries, context.depth);
  return entries;
}

const wireTypeOfValue = (schema: Schema): number =>
  schema.type === 'struct' || schema.type === 'map' || schema.type === 'list' ? wireTypes.bytes : wireTypeOf(schema);

/** One item, or many of them when numbers come packed. */
function readItems(
  { name, schema }: FieldSlot,
  reader: WireReader,
  tag: number,
  { items, depth }: { readonly items: unknown[]; readonly depth: number },
): void {
  const wireType = wireTypeOfValue(schema);
  if (wireType === wireTypes.bytes || (tag & 7) === wireType) {
    expectWireType(tag, wireType, name);
    items.push(readValue(schema, reader, { previous: undefined, depth }));
    return;
  }
  expectWireType(tag, wireTypes.bytes, name);
  const packed = reader.message();
  while (!packed.done) {
    packed.budget.spend(1);
    items.push(readValue(schema, packed, { previous: undefined, depth }));
  }
}

function readValue(schema: Schema, reader: WireReader, { previous, depth }: Context): unknown {
  if (schema.type === 'struct') {
    const target = isJsonObject(previous) ? previous : {};
    readMessage(tableOf(schema), reader.message(), target, depth + 1);
    return target;
  }
  if (schema.type === 'list' || schema.type === 'map') return readNested(schema, reader.message(), depth + 1);
  return readLeaf(schema, reader);
}

/** A list or map as the value of a map or list: a message with the items in field 1, such as ExtraValue. */
function readNested(schema: Schema, reader: WireReader, depth: number): unknown {
  const holder: JsonObject = {};
  readMessage(new Map([[1, { name: 'items', schema }]]), reader, holder, depth);
  return holder['items'] ?? (schema.type === 'list' ? [] : {});
}

function readEntry(schema: MapSchema, reader: WireReader, entries: JsonObject, depth: number): void {
  let key = '';
  let value: unknown = null; // the zero value, once decoded
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === 0x0a) {
      key = reader.string();
    } else if (tag >>> 3 === 2) {
      expectWireType(tag, wireTypeOfValue(schema.values), 'value');
      value = readValue(schema.values, reader, { previous: undefined, depth });
    } else {
      reader.skip(tag & 7);
    }
  }
  setField(entries, key, value);
}

function writeMessage(table: Table, writer: WireWriter, object: JsonObject): void {
  for (const [number, slot] of table) {
    if ('inline' in slot) {
      const inline = new WireWriter();
      writeMessage(slot.inline, inline, object);
      writer.bytes(number, inline.finish());
    } else {
      writeField(writer, number, slot.schema, object[slot.name]);
    }
  }
}

function writeField(writer: WireWriter, number: number, schema: Schema, value: unknown): void {
  if (value === undefined || value === null) return;
  if (schema.type === 'list') {
    for (const item of value as readonly unknown[]) writeValue(writer, number, schema.items, item);
  } else if (schema.type === 'map') {
    for (const [key, item] of Object.entries(value)) {
      const entry = new WireWriter();
      entry.string(1, key);
      writeValue(entry, 2, schema.values, item);
      writer.bytes(number, entry.finish());
    }
  } else {
    writeValue(writer, number, schema, value);
  }
}

function writeValue(writer: WireWriter, number: number, schema: Schema, value: unknown): void {
  if (schema.type === 'struct') {
    writer.bytes(number, encodeProtobuf(schema, value as JsonObject));
  } else if (schema.type === 'list' || schema.type === 'map') {
    const nested = new WireWriter();
    writeField(nested, 1, schema, value);
    writer.bytes(number, nested.finish());
  } else if (value === null) {
    writer.bytes(number, new Uint8Array()); // the zero time
  } else {
    writeLeaf(writer, number, schema, value);
  }
}
