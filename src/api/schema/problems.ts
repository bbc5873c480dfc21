// Finds the paths of fields that do not match their schema. Only runs after the decoder has found a problem. Walks the
// value in document order, because Kubernetes reports problems in that order.

import { isJsonObject } from './json-object.ts';
import { Mismatch, wrongType, goTypeOf, structNameOf } from './mismatch.ts';
import type { Path } from './path.ts';
import { maxProblems, unknownField } from './path.ts';
import { readString, scalarReaders } from './scalars.ts';
import type { ListSchema, MapSchema, Schema, StructSchema } from './schema.ts';

/** A value of the wrong type, with the message of Go's encoding/json. */
export class DecodeError extends Error {
  readonly code = 'DECODE';
}

/** The first 100 undeclared fields of a value without type errors. */
export function findUnknown(schema: StructSchema, value: unknown): readonly string[] {
  const unknown: string[] = [];
  walk(schema, value, { path: undefined, fields: '', struct: '', unknown });
  return [...new Set(unknown)];
}

/** The error about the first value of a wrong type. */
export function findTypeError(schema: StructSchema, value: unknown): DecodeError | undefined {
  try {
    walk(schema, value, { path: undefined, fields: '', struct: '', unknown: [] });
    return undefined;
  } catch (error) {
    if (error instanceof DecodeError) return error;
    throw error;
  }
}

interface Place {
  readonly path: Path;
  /** The path in Go's notation: `spec.ports.name`. */
  readonly fields: string;
  /** The innermost struct that contains the field: `ServicePort`; '' at the top level. */
  readonly struct: string;
  readonly unknown: string[];
}

function walk(schema: Schema, value: unknown, place: Place): void {
  if (value === null || value === undefined) return;
  if (schema.type === 'struct') return walkStruct(schema, value, place);
  if (schema.type === 'list') return walkList(schema, value, place);
  if (schema.type === 'map') return walkMap(schema, value, place);
  if (schema.type === 'opaque')
    return readLeaf((given) => schema.read(given, (path) => noteBelow(path, place)), value, place);
  readLeaf(schema.type === 'string' ? readString : scalarReaders[schema.type], value, place);
}

function walkList(schema: ListSchema, value: unknown, place: Place): void {
  if (!Array.isArray(value)) throw located(wrongType(value, goTypeOf(schema)), place);
  value.forEach((item, step) => walk(schema.items, item, { ...place, path: { parent: place.path, step } }));
}

function walkMap(schema: MapSchema, value: unknown, place: Place): void {
  if (!isJsonObject(value)) throw located(wrongType(value, goTypeOf(schema)), place);
  for (const step of Object.keys(value)) {
    walk(schema.values, value[step], { ...place, path: { parent: place.path, step } });
  }
}

function walkStruct(schema: StructSchema, value: unknown, place: Place): void {
  if (!isJsonObject(value)) throw located(wrongType(value, goTypeOf(schema)), place);
  const struct = structNameOf(schema);
  for (const name of Object.keys(value)) {
    const field = Object.hasOwn(schema.fields, name) ? schema.fields[name] : undefined;
    const path: Path = { parent: place.path, step: name };
    if (field !== undefined) {
      const fields = place.fields === '' ? name : `${place.fields}.${name}`;
      walk(field.schema, value[name], { ...place, path, fields, struct });
    } else if (!schema.open && value[name] !== undefined && place.unknown.length < maxProblems) {
      place.unknown.push(unknownField(path));
    }
  }
}

function noteBelow(steps: readonly (string | number)[], { path, unknown }: Place): void {
  if (unknown.length >= maxProblems) return;
  unknown.push(unknownField(steps.reduce<Path>((parent, step) => ({ parent, step }), path)));
}

function readLeaf(read: (value: unknown) => unknown, value: unknown, place: Place): void {
  try {
    read(value);
  } catch (error) {
    throw error instanceof Mismatch ? located(error, place) : error;
  }
}

function located(mismatch: Mismatch, { struct, fields }: Place): DecodeError {
  if (mismatch.complete) return new DecodeError(mismatch.message);
  const [found, goType] = mismatch.message.split('|');
  const where = struct === '' ? 'Go value' : `Go struct field ${struct}.${fields}`;
  return new DecodeError(`json: cannot unmarshal ${found} into ${where} of type ${goType}`);
}
