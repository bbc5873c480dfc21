import type { ListSchema, MapSchema, Schema, StructSchema } from '../../../api/schema/schema.ts';
import { goTypeOf, printGo } from '../go-text.ts';
import type { JsonObject } from '../json-value.ts';
import { isList, isObject } from '../json-value.ts';
import { fieldElement, printElement } from './element.ts';
import { ItemError, itemElement } from './items.ts';
import { shapeOf } from './shape.ts';

/** What keeps a configuration from being applied, in Kubernetes' words; empty where nothing does. */
export function typeErrors(config: JsonObject, schema: StructSchema): string[] {
  return structErrors(config, schema, () => '');
}

/** Where a value is, worked out only where something is wrong with it. */
type Path = () => string;

function errorsOf(value: unknown, schema: Schema, path: Path): string[] {
  if (value === null || schema.type === 'json') return [];
  switch (schema.type) {
    case 'struct':
      return isObject(value)
        ? structErrors(value, schema, path)
        : [`${path()}: expected map, got ${printPointer(value)}`];
    case 'map':
      return isObject(value) ? mapErrors(value, schema, path) : [`${path()}: expected map, got ${printPointer(value)}`];
    case 'list':
      return isList(value) ? listErrors(value, schema, path) : [`${path()}: expected list, got ${printPointer(value)}`];
    case 'int32':
    case 'int64':
    case 'double':
      if (typeof value === 'number') return [];
      return [`${path()}: expected numeric (int or float), got ${goTypeOf(value)}`];
    case 'boolean':
      return typeof value === 'boolean' ? [] : [`${path()}: expected boolean, got ${printPointer(value)}`];
    case 'intOrString':
    case 'quantity':
      return typeof value === 'object' ? [`${path()}: expected any scalar, got ${printPointer(value)}`] : [];
    case 'string':
    case 'bytes':
    case 'time':
    case 'microTime':
      if (typeof value === 'string') return [];
      return [`${path()}: expected string, got &value.valueUnstructured{Value:${printGo(value)}}`];
  }
}

function structErrors(object: JsonObject, schema: StructSchema, path: Path): string[] {
  return Object.entries(object).flatMap(([name, value]) => {
    const below = (): string => path() + printElement(fieldElement(name));
    const field = Object.hasOwn(schema.fields, name) ? schema.fields[name] : undefined;
    if (field !== undefined) return errorsOf(value, field.schema, below);
    return schema.open ? [] : [`${below()}: field not declared in schema`];
  });
}

const mapErrors = (object: JsonObject, schema: MapSchema, path: Path): string[] =>
  Object.entries(object).flatMap(([key, value]) =>
    errorsOf(value, schema.values, () => path() + printElement(fieldElement(key))),
  );

function listErrors(list: readonly unknown[], schema: ListSchema, path: Path): string[] {
  const shape = shapeOf(schema);
  const errors: string[] = [];
  const seen = new Set<string>();
  for (const [index, item] of list.entries()) {
    let element = `i:${index}`;
    if (shape.kind === 'set' || shape.kind === 'items') {
      try {
        element = itemElement(item, shape);
      } catch (error) {
        if (error instanceof ItemError) return [...errors, `${path()}: element ${index}: ${error.message}`];
        throw error;
      }
      if (seen.has(element)) errors.push(`${path()}: duplicate entries for key ${printElement(element)}`);
      seen.add(element);
    }
    const named = element;
    for (const error of errorsOf(item, schema.items, () => path() + printElement(named))) errors.push(error);
  }
  return errors;
}

/** A value as Go prints the pointer to what holds it. */
const printPointer = (value: unknown): string => `&{${printGo(value)}}`;
