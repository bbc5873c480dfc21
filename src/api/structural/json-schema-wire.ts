// The protobuf encoding of JSONSchemaProps.

import { parseJson } from '../schema/json.ts';
import type { JsonObject } from '../schema/json-object.ts';
import { setField } from '../schema/json-object.ts';
import type { WireForm } from '../schema/schema.ts';
import type { WireReader, WireWriter } from '../schema/wire.ts';
import { ProtobufError } from '../schema/wire.ts';
import type { FieldType } from './json-schema-fields.ts';
import { fieldsOf } from './json-schema-fields.ts';

type Message = 'schema' | 'rule' | 'docs';

export const jsonSchemaWire: WireForm = {
  read: (reader) => readMessage('schema', reader, 0),
  write: (writer, value) => writeMessage('schema', writer, value as JsonObject), // it was decoded by its schema
};

const maxDepth = 100;

const byNumber = new Map(
  (['schema', 'rule', 'docs'] as const).map((message) => [
    message,
    new Map(Array.from(fieldsOf(message), ([name, { number, type }]) => [number, { name, type }])),
  ]),
);

function readMessage(message: Message, reader: WireReader, depth: number): JsonObject {
  if (depth > maxDepth) throw new ProtobufError('message is nested too deeply');
  const result: JsonObject = {};
  while (!reader.done) {
    const tag = reader.tag();
    const field = byNumber.get(message)?.get(tag >>> 3);
    if (field === undefined) reader.skip(tag & 7);
    else result[field.name] = readField(field.type, reader, { previous: result[field.name], depth: depth + 1 });
  }
  return result;
}

interface Context {
  readonly previous: unknown;
  readonly depth: number;
}

function readField(type: FieldType, reader: WireReader, { previous, depth }: Context): unknown {
  const append = (item: unknown): unknown[] => appended(previous, item);
  switch (type) {
    case 'string':
      return reader.string();
    case 'boolean':
      return reader.int() !== 0;
    case 'double':
      return reader.double();
    case 'int64':
      return reader.int();
    case 'json':
      return readJson(reader.message());
    case 'jsons':
      return append(readJson(reader.message()));
    case 'strings':
      return append(reader.string());
    case 'schema':
      return readMessage('schema', reader.message(), depth);
    case 'schemas':
      return append(readMessage('schema', reader.message(), depth));
    case 'rules':
      return append(readMessage('rule', reader.message(), depth));
    case 'docs':
      return readMessage('docs', reader.message(), depth);
    case 'schemaOrBoolean':
    case 'schemaOrSchemas':
      return readUnion(type, reader.message(), depth);
    case 'schemaMap':
    case 'dependencies':
      return readEntry(type, reader.message(), { previous, depth });
  }
}

/** The list with one more item: that of earlier fields, which belongs to the reader. */
function appended(previous: unknown, item: unknown): unknown[] {
  const items: unknown[] = Array.isArray(previous) ? previous : [];
  items.push(item);
  return items;
}

/** JSONSchemaPropsOrBool, …OrArray and …OrStringArray: field 1 or 2 is set. */
function readUnion(type: FieldType, reader: WireReader, depth: number): unknown {
  let result: unknown = type === 'schemaOrBoolean' ? false : {};
  while (!reader.done) {
    const tag = reader.tag();
    const number = tag >>> 3;
    const schemaNumber = type === 'schemaOrBoolean' ? 2 : 1;
    if (number === schemaNumber) result = readMessage('schema', reader.message(), depth);
    else if (number === 1) {
      const allows = reader.int() !== 0;
      if (typeof result === 'boolean') result = allows;
    } else if (number === 2) {
      const item = type === 'dependencies' ? reader.string() : readMessage('schema', reader.message(), depth);
      result = appended(result, item);
    } else reader.skip(tag & 7);
  }
  return result;
}

function readEntry(type: FieldType, reader: WireReader, { previous, depth }: Context): JsonObject {
  const entries = (previous ?? {}) as JsonObject; // made by an earlier call
  let key = '';
  let value: unknown = {};
  while (!reader.done) {
    const tag = reader.tag();
    if (tag >>> 3 === 1) key = reader.string();
    else if (tag >>> 3 === 2) {
      const message = reader.message();
      value = type === 'schemaMap' ? readMessage('schema', message, depth) : readUnion('dependencies', message, depth);
    } else reader.skip(tag & 7);
  }
  setField(entries, key, value);
  return entries;
}

function readJson(reader: WireReader): unknown {
  let text = 'null';
  while (!reader.done) {
    const tag = reader.tag();
    if (tag >>> 3 === 1) text = reader.string();
    else reader.skip(tag & 7);
  }
  try {
    return parseJson(text || 'null', reader.budget).value;
  } catch (error) {
    throw new ProtobufError('embedded JSON is malformed', { cause: error });
  }
}

function writeMessage(message: Message, writer: WireWriter, object: JsonObject): void {
  for (const [name, { type, number }] of fieldsOf(message)) {
    const value = object[name];
    if (value !== undefined) writeField(type, writer, number, value);
  }
}

// Values were decoded by their schema, so that their types are those of the table.
function writeField(type: FieldType, writer: WireWriter, number: number, value: unknown): void {
  const each = (item: FieldType): void => {
    for (const one of value as readonly unknown[]) writeField(item, writer, number, one);
  };
  switch (type) {
    case 'string':
      return writer.string(number, String(value));
    case 'boolean':
      return writer.int(number, value === true ? 1 : 0);
    case 'double':
      return writer.double(number, Number(value));
    case 'int64':
      return writer.int(number, Number(value));
    case 'json':
      return nested(writer, number, () => writer.string(1, JSON.stringify(value)));
    case 'jsons':
      return each('json');
    case 'strings':
      return each('string');
    case 'schemas':
      return each('schema');
    case 'rules':
      for (const rule of value as readonly JsonObject[]) {
        nested(writer, number, () => writeMessage('rule', writer, rule));
      }
      return;
    case 'schema':
    case 'docs':
      return nested(writer, number, () => writeMessage(type, writer, value as JsonObject));
    case 'schemaOrBoolean':
    case 'schemaOrSchemas':
      return nested(writer, number, () => writeUnion(type, writer, value));
    case 'schemaMap':
    case 'dependencies':
      for (const [key, item] of Object.entries(value as JsonObject)) {
        nested(writer, number, () => {
          writer.string(1, key);
          if (type === 'schemaMap') writeField('schema', writer, 2, item);
          else nested(writer, 2, () => writeUnion('dependencies', writer, item));
        });
      }
  }
}

function writeUnion(type: FieldType, writer: WireWriter, value: unknown): void {
  if (type === 'schemaOrBoolean') {
    writer.int(1, value === false ? 0 : 1);
    if (typeof value !== 'boolean') writeField('schema', writer, 2, value);
  } else if (Array.isArray(value)) writeField(type === 'dependencies' ? 'strings' : 'schemas', writer, 2, value);
  else writeField('schema', writer, 1, value);
}

function nested(writer: WireWriter, number: number, write: () => void): void {
  const start = writer.begin(number);
  write();
  writer.end(start);
}
