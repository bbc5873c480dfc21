import { truncate } from '../../../api/text.ts';
import { maxProblems } from '../../../api/schema/path.ts';
import type { ListSchema, MapSchema, Schema, StructSchema } from '../../../api/schema/schema.ts';
import { goTypeOf, printGo } from '../go-text.ts';
import type { JsonObject } from '../json-value.ts';
import { isJsonObject } from '../../../api/schema/json-object.ts';
import { isList } from '../json-value.ts';
import { fieldElement, printElement } from './element.ts';
import { ItemError, itemElement } from './items.ts';
import { shapeOf } from './shape.ts';

/** The first 100 type errors of a configuration, with Kubernetes' messages. */
export function typeErrors(config: JsonObject, schema: StructSchema): string[] {
  const errors: string[] = [];
  checkStruct(config, schema, () => '', errors);
  return errors.slice(0, maxProblems);
}

/** Returns the path of a value; a function, since only errors need it. */
type Path = () => string;

function check(value: unknown, schema: Schema, path: Path, errors: string[]): void {
  if (schema.type === 'opaque') return check(value, schema.merged, path, errors);
  if (value === null || schema.type === 'json' || errors.length >= maxProblems) return;
  const wrong = problemOf(value, schema);
  if (wrong !== undefined) errors.push(`${truncate(path())}: expected ${wrong}`);
  else if (schema.type === 'struct' && isJsonObject(value)) checkStruct(value, schema, path, errors);
  else if (schema.type === 'map' && isJsonObject(value)) checkMap(value, schema, path, errors);
  else if (schema.type === 'list' && isList(value)) checkList(value, schema, path, errors);
}

/** The type error of a value, without its contents. */
function problemOf(value: unknown, schema: Schema): string | undefined {
  switch (schema.type) {
    case 'struct':
    case 'map':
      return isJsonObject(value) ? undefined : `map, got ${printPointer(value)}`;
    case 'list':
      return isList(value) ? undefined : `list, got ${printPointer(value)}`;
    case 'int32':
    case 'int64':
    case 'double':
      return typeof value === 'number' ? undefined : `numeric (int or float), got ${goTypeOf(value)}`;
    case 'boolean':
      return typeof value === 'boolean' ? undefined : `boolean, got ${printPointer(value)}`;
    case 'intOrString':
    case 'quantity':
      return typeof value === 'object' ? `any scalar, got ${printPointer(value)}` : undefined;
    case 'string':
    case 'bytes':
    case 'time':
    case 'microTime':
      return typeof value === 'string' ? undefined : `string, got &value.valueUnstructured{Value:${printGo(value)}}`;
    case 'json':
    case 'opaque':
      return undefined;
  }
}

function checkStruct(object: JsonObject, schema: StructSchema, path: Path, errors: string[]): void {
  for (const [name, value] of Object.entries(object)) {
    if (errors.length >= maxProblems) return;
    const below = (): string => path() + printElement(fieldElement(name));
    const field = Object.hasOwn(schema.fields, name) ? schema.fields[name] : undefined;
    if (field !== undefined) check(value, field.schema, below, errors);
    else if (!schema.open) errors.push(`${truncate(below())}: field not declared in schema`);
  }
}

function checkMap(object: JsonObject, schema: MapSchema, path: Path, errors: string[]): void {
  for (const [key, value] of Object.entries(object)) {
    check(value, schema.values, () => path() + printElement(fieldElement(key)), errors);
  }
}

function checkList(list: readonly unknown[], schema: ListSchema, path: Path, errors: string[]): void {
  const shape = shapeOf(schema);
  const seen = new Set<string>();
  for (const [index, item] of list.entries()) {
    if (errors.length >= maxProblems) return;
    let element = `i:${index}`;
    if (shape.kind === 'set' || shape.kind === 'items') {
      try {
        element = itemElement(item, shape);
      } catch (error) {
        if (!(error instanceof ItemError)) throw error;
        errors.push(`${truncate(path())}: element ${index}: ${error.message}`);
        return;
      }
      if (seen.has(element))
        errors.push(`${truncate(path())}: duplicate entries for key ${truncate(printElement(element))}`);
      seen.add(element);
    }
    const named = element;
    check(item, schema.items, () => path() + printElement(named), errors);
  }
}

/** A value as Go prints a pointer to its wrapper. */
const printPointer = (value: unknown): string => `&{${printGo(value)}}`;
