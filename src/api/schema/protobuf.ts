// Encodes and decodes protobuf bodies by the field numbers of the schema. A message is converted to JSON values and then
// passed to the JSON decoder, so that zero values, field order and checks are the same for both.
import { ProtobufError, WireReader, WireWriter, wireTypes } from './wire.ts';
import type { Decoded } from './decode.ts';
import { decode, DecodeError } from './decode.ts';
import type { JsonObject } from './json-object.ts';
import { isJsonObject, setField } from './json-object.ts';
import type { LeafSchema } from './protobuf-scalars.ts';
import { readLeaf, wireTypeOf, writeLeaf } from './protobuf-scalars.ts';
import type { MapSchema, OpaqueSchema, Schema, StructSchema, WireForm } from './schema.ts';

export { ProtobufError };

/**
 * Decodes a message, such as `raw` of an envelope, and skips unknown fields. Throws a `ProtobufError` or a
 * `TooManyValuesError`.
 */
export function decodeProtobuf<T = Readonly<Record<string, unknown>>>(schema: StructSchema, raw: Uint8Array): T {
  const value: JsonObject = {};
  readMessage(tableOf(schema), new WireReader(raw), value, 0);
  try {
    const { object }: Decoded<T> = decode(schema, value);
    return object;
  } catch (error) {
    // A number out of range or a malformed quantity: valid protobuf, but not valid for the type.
    throw error instanceof DecodeError ? new ProtobufError(error.message, { cause: error }) : error;
  }
}

/** Encodes a decoded object as a message. */
export function encodeProtobuf(schema: StructSchema, object: object): Buffer<ArrayBuffer> {
  const writer = new WireWriter();
  writeMessage(tableOf(schema), writer, object as JsonObject);
  return writer.finish();
}

/** The meaning of a field number: a field, or a message whose fields are inline in JSON. */
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
    const home = [field.inline ?? []].flat().reduce(inlineTable, table);
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
  /** The value read from earlier occurrences of the field: lists and maps are extended, messages merged. */
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

const wireTypeOfValue = (schema: Schema): number => (isMessage(schema) ? wireTypes.bytes : wireTypeOf(schema));

/** Whether values are messages, as opposed to leaves. */
const isMessage = (schema: Schema): schema is Exclude<Schema, LeafSchema> =>
  schema.type === 'struct' || schema.type === 'map' || schema.type === 'list' || schema.type === 'opaque';

/** Reads one item, or all items of a packed field of numbers. */
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
  if (schema.type === 'opaque') return wireOf(schema).read(reader.message());
  return readLeaf(schema, reader);
}

function wireOf({ wire, goType }: OpaqueSchema): WireForm {
  if (wire === undefined) throw new Error(`bug: ${goType} has no protobuf encoding`);
  return wire;
}

/** Reads a list or map inside a map or list: a message with the items in field 1, such as ExtraValue. */
function readNested(schema: Schema, reader: WireReader, depth: number): unknown {
  const holder: JsonObject = {};
  readMessage(new Map([[1, { name: 'items', schema }]]), reader, holder, depth);
  return holder['items'] ?? (schema.type === 'list' ? [] : {});
}

function readEntry(schema: MapSchema, reader: WireReader, entries: JsonObject, depth: number): void {
  let key = '';
  let value: unknown = null; // decoded as the zero value
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
      const start = writer.begin(number);
      writeMessage(slot.inline, writer, object);
      writer.end(start);
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
      const start = writer.begin(number);
      writer.string(1, key);
      writeValue(writer, 2, schema.values, item);
      writer.end(start);
    }
  } else {
    writeValue(writer, number, schema, value);
  }
}

function writeValue(writer: WireWriter, number: number, schema: Schema, value: unknown): void {
  if (!isMessage(schema)) {
    if (value === null) writer.header(number, 0); // the zero time
    else writeLeaf(writer, number, schema, value);
    return;
  }
  const start = writer.begin(number);
  if (schema.type === 'struct') writeMessage(tableOf(schema), writer, value as JsonObject);
  else if (schema.type === 'opaque') wireOf(schema).write(writer, value);
  else writeField(writer, 1, schema, value);
  writer.end(start);
}

/** The envelope of every protobuf body: the kind of the message and its bytes. */
export interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  readonly raw: Uint8Array;
  /** '' means protobuf. */
  readonly contentType: string;
}

const magic = Uint8Array.of(0x6b, 0x38, 0x73, 0x00); // k8s\0

/** Decodes the envelope of `application/vnd.kubernetes.protobuf`. Throws a `ProtobufError`. */
export function decodeEnvelope(bytes: Uint8Array): Envelope {
  if (bytes.length < magic.length || magic.some((byte, index) => bytes[index] !== byte)) {
    throw new ProtobufError('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]');
  }
  const reader = new WireReader(bytes, magic.length);
  let envelope: Envelope = { apiVersion: '', kind: '', raw: new Uint8Array(), contentType: '' };
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === 0x0a) envelope = { ...envelope, ...decodeTypeMeta(reader.message()) };
    else if (tag === 0x12) envelope = { ...envelope, raw: reader.bytes() };
    else if (tag === 0x22) envelope = { ...envelope, contentType: reader.string() };
    else reader.skip(tag & 7);
  }
  return envelope;
}

function decodeTypeMeta(reader: WireReader): Pick<Envelope, 'apiVersion' | 'kind'> {
  let apiVersion = '';
  let kind = '';
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === 0x0a) apiVersion = reader.string();
    else if (tag === 0x12) kind = reader.string();
    else reader.skip(tag & 7);
  }
  return { apiVersion, kind };
}

/** The kind and version of a message, which its envelope contains. */
export type TypeMeta = Pick<Envelope, 'apiVersion' | 'kind'>;

/** Encodes an object as a body of `application/vnd.kubernetes.protobuf`. */
export function encodeObject(type: TypeMeta, schema: StructSchema, object: object): Buffer {
  const writer = new WireWriter();
  writeEnvelope(writer, type, schema, object);
  return writer.finish();
}

/** Encodes an event of a watch, with its length before it. */
export function encodeEvent(eventType: string, type: TypeMeta, schema: StructSchema, object: object): Buffer {
  const writer = new WireWriter();
  writer.raw(noLength);
  writer.string(1, eventType);
  const extension = writer.begin(2);
  const raw = writer.begin(1);
  writeEnvelope(writer, type, schema, object);
  writer.end(raw);
  writer.end(extension);
  const frame = writer.finish();
  frame.writeUInt32BE(frame.length - noLength.length);
  return frame;
}

const noLength = Buffer.alloc(4);

function writeEnvelope(writer: WireWriter, type: TypeMeta, schema: StructSchema, object: object): void {
  writeEnvelopeHead(writer, type);
  const raw = writer.begin(2);
  writeMessage(tableOf(schema), writer, object as JsonObject);
  writer.end(raw);
  writer.raw(envelopeTail);
}

function writeEnvelopeHead(writer: WireWriter, { apiVersion, kind }: TypeMeta): void {
  writer.raw(magic);
  const typeMeta = writer.begin(1);
  writer.string(1, apiVersion);
  writer.string(2, kind);
  writer.end(typeMeta);
}

/** Neither a content encoding nor a content type. */
const envelopeTail = Uint8Array.of(0x1a, 0x00, 0x22, 0x00);

/** Encodes an item of a list, for `encodeList`. */
export function encodeItem(schema: StructSchema, object: object): Buffer {
  const writer = new WireWriter();
  writeValue(writer, 2, schema, object);
  return writer.finish();
}

/** What surrounds the items of a list in its body. */
export interface ListFrame {
  readonly before: Buffer;
  readonly after: Uint8Array;
}

/** Encodes what surrounds the items of a list, which have `itemBytes` in total: the length comes first on the wire. */
export function encodeListFrame(
  type: TypeMeta,
  { schema, metadata }: { readonly schema: StructSchema; readonly metadata: object },
  itemBytes: number,
): ListFrame {
  const meta = new WireWriter();
  writeValue(meta, 1, schema, metadata);
  const metaField = meta.finish();
  const writer = new WireWriter();
  writeEnvelopeHead(writer, type);
  writer.header(2, metaField.length + itemBytes);
  writer.raw(metaField);
  return { before: writer.finish(), after: envelopeTail };
}
