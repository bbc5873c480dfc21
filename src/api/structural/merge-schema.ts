import type { Schema } from '../schema/schema.ts';
import {
  atomicMap,
  boolean,
  double,
  int64,
  intOrString,
  json,
  list,
  listMap,
  map,
  pointer,
  setOf,
  string,
  struct,
} from '../schema/schema.ts';
import type { JsonSchema } from './json-schema.ts';
import { itemsOf, valuesOf } from './json-schema.ts';

/** The schema by which server-side apply merges values of a structural schema. */
export function mergeSchema(schema: JsonSchema): Schema {
  if (schema['x-kubernetes-int-or-string'] === true) return intOrString;
  switch (schema.type ?? '') {
    case 'array':
      return listSchema(schema);
    case 'object':
      return objectSchemaOf(schema);
    case 'string':
      return string;
    case 'integer':
      return int64;
    case 'number':
      return double;
    case 'boolean':
      return boolean;
    default:
      return json;
  }
}

function listSchema(schema: JsonSchema): Schema {
  const items = itemsOf(schema);
  const merged = items === undefined ? json : mergeSchema(items);
  switch (schema['x-kubernetes-list-type'] ?? '') {
    case 'set':
      return setOf(merged);
    case 'map':
      return listMap(merged, schema['x-kubernetes-list-map-keys'] ?? []);
    default:
      return list(merged);
  }
}

function objectSchemaOf(schema: JsonSchema): Schema {
  const isAtomic = schema['x-kubernetes-map-type'] === 'atomic';
  const values = valuesOf(schema);
  if (values !== undefined) return isAtomic ? atomicMap(mergeSchema(values)) : map(mergeSchema(values));
  if (schema.additionalProperties === true) return isAtomic ? atomicMap(json) : map(json);
  const fields = Object.entries(schema.properties ?? {}).map(
    ([name, property]) =>
      [name, pointer(0, mergeSchema(property), property.description ?? '', defaultOf(property))] as const,
  );
  const isOpen =
    schema['x-kubernetes-preserve-unknown-fields'] === true || schema['x-kubernetes-embedded-resource'] === true;
  return struct('', '', Object.fromEntries(fields), { atomic: isAtomic, open: isOpen });
}

const defaultOf = (schema: JsonSchema): { readonly default?: unknown } =>
  schema.default === undefined ? {} : { default: schema.default };
