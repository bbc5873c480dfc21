// The CEL types and values of structural schemas.

import type { CelType } from '../cel/cel-type.ts';
import { bool, dyn, int, listOf, mapOf, maxRequestBytes, simple, string } from '../cel/cel-type.ts';
import type { Value } from '../cel/values.ts';
import { CelError, CelList, CelMap } from '../cel/values.ts';
import { parseDay, parseDuration, parseTimestamp } from '../cel/library/time.ts';
import type { JsonObject } from '../schema/json-object.ts';
import { isJsonObject } from '../schema/json-object.ts';
import { keyOf } from './correlate.ts';
import type { JsonSchema } from './json-schema.ts';
import { itemsOf, propertyOf, valuesOf } from './json-schema.ts';

const escapes: readonly (readonly [text: string, escaped: string])[] = [
  ['__', '__underscores__'],
  ['.', '__dot__'],
  ['-', '__dash__'],
  ['/', '__slash__'],
];
const keywords: ReadonlySet<string> = new Set([
  'true',
  'false',
  'null',
  'in',
  'as',
  'break',
  'const',
  'continue',
  'else',
  'for',
  'function',
  'if',
  'import',
  'let',
  'loop',
  'package',
  'namespace',
  'return',
  'var',
  'void',
  'while',
]);

/** The name of a property in expressions; undefined if it has none. */
export function escaped(name: string): string | undefined {
  if (keywords.has(name)) return `__${name}__`;
  const text = escapes.reduce((result, [from, to]) => result.replaceAll(from, to), name);
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(text) ? text : undefined;
}

/** The metadata that rules can read. */
const metadataSchema: JsonSchema = {
  type: 'object',
  properties: { name: { type: 'string' }, generateName: { type: 'string' } },
};

/** The schema of a resource, in which rules can read its type and its names. */
export function withTypeAndNames(schema: JsonSchema): JsonSchema {
  const known = withMeta.get(schema);
  if (known !== undefined) return known;
  const { metadata: declared, ...properties } = schema.properties ?? {};
  const metadata = { ...metadataSchema, properties: { ...metadataSchema.properties, ...declared?.properties } };
  const result: JsonSchema = {
    ...schema,
    properties: { kind: { type: 'string' }, apiVersion: { type: 'string' }, ...properties, metadata },
  };
  withMeta.set(schema, result);
  return result;
}

// A schema is completed once, since the values of objects look up their types by it.
const withMeta = new WeakMap<JsonSchema, JsonSchema>();

const completed = (schema: JsonSchema): JsonSchema =>
  schema['x-kubernetes-embedded-resource'] === true ? withTypeAndNames(schema) : schema;

/** Keeps what is computed of a schema, since each part with rules needs it of all parts below. */
function memoized<Result>(compute: (schema: JsonSchema) => Result): (schema: JsonSchema) => Result {
  const known = new WeakMap<JsonSchema, { readonly result: Result }>();
  return (schema) => {
    const found = known.get(schema) ?? { result: compute(schema) };
    known.set(schema, found);
    return found.result;
  };
}

/** The smallest size of a value in JSON, which bounds how many of them a request can contain. */
export const minBytes = memoized((given: JsonSchema): number => {
  const schema = completed(given);
  if (schema['x-kubernetes-int-or-string'] === true) return 1;
  switch (schema.type ?? '') {
    case 'object': {
      const required = (schema.required ?? []).flatMap((name) => {
        const property = propertyOf(schema, name);
        return property === undefined || property.default !== undefined ? [] : [name.length + minBytes(property) + 4];
      });
      return required.reduce((sum, bytes) => sum + bytes, 2);
    }
    case 'string':
      return schema.format === 'date-time' ? 21 : schema.format === 'date' ? 12 : schema.format === 'duration' ? 3 : 2;
    case 'boolean':
      return 4;
    case 'array':
      return 2;
    default:
      return 1;
  }
});

/** How many values of `bytes` fit into the largest request. */
const fitting = (bytes: number): number => Math.floor((maxRequestBytes - 2) / (bytes + 1));

/** The type of values of a schema; undefined if rules cannot read them. */
export const celTypeOf = memoized((given: JsonSchema): CelType | undefined => {
  const schema = completed(given);
  if (schema['x-kubernetes-int-or-string'] === true) return { ...dyn, max: maxLengthOf(schema) };
  switch (schema.type ?? '') {
    case 'object':
      return objectType(schema);
    case 'array': {
      const items = itemsOf(schema);
      const of = items && celTypeOf(items);
      return items && of && listOf(of, schema.maxItems ?? fitting(minBytes(items)));
    }
    case 'string':
      return stringType(schema);
    case 'integer':
      return int;
    case 'number':
      return simple('double');
    case 'boolean':
      return bool;
    default:
      return undefined;
  }
});

/** As in Kubernetes, estimates count no characters of keys. They count when a rule runs. */
const mapKey: CelType = { name: 'string', max: 0 };

function objectType(schema: JsonSchema): CelType | undefined {
  const values = valuesOf(schema);
  if (values !== undefined) {
    const of = celTypeOf(values);
    return of && mapOf(of, schema.maxProperties ?? fitting(minBytes(values) + 3), mapKey);
  }
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const [field, type] = [escaped(name), celTypeOf(property)];
    return field === undefined || type === undefined ? [] : [[field, type] as const];
  });
  return { name: 'object', fields: new Map(fields) };
}

const maxLengthOf = ({ maxLength }: JsonSchema): number => maxLength ?? maxRequestBytes - 2;

function stringType(schema: JsonSchema): CelType {
  const { format, enum: words } = schema;
  if (format === 'byte') return { name: 'bytes', max: maxLengthOf(schema) };
  if (format === 'duration') return simple('duration');
  if (format === 'date' || format === 'date-time') return simple('timestamp');
  if (schema.maxLength !== undefined || words === undefined) return { ...string, max: maxLengthOf(schema) };
  return { ...string, max: Math.max(0, ...words.map((word) => (typeof word === 'string' ? word.length : 0))) };
}

/** A JSON value as a value of CEL. Parts are converted when they are read. */
export function celValueOf(value: unknown, given: JsonSchema | undefined): Value {
  if (value === null || value === undefined) return null;
  const schema = given && completed(given);
  if (typeof value === 'number') {
    return schema?.type === 'number' || !Number.isSafeInteger(value) ? value : BigInt(value);
  }
  if (typeof value === 'string') return textValue(value, schema);
  if (Array.isArray(value)) return listValue(value, schema);
  if (isJsonObject(value)) return new JsonMap(value, schema);
  if (typeof value === 'boolean') return value;
  throw new CelError('no such overload');
}

function textValue(text: string, schema: JsonSchema | undefined): Value {
  if (schema?.type !== 'string') return text;
  if (schema.format === 'byte') return Buffer.from(text, 'base64');
  if (schema.format === 'duration') return parseDuration(text);
  if (schema.format === 'date') return parseDay(text);
  return schema.format === 'date-time' ? parseTimestamp(text) : text;
}

function listValue(list: readonly unknown[], schema: JsonSchema | undefined): CelList {
  const items = schema && itemsOf(schema);
  const made = new Map<number, Value>();
  const at = (index: number): Value => {
    const known = made.get(index);
    if (known !== undefined) return known;
    const value = celValueOf(list[index], items);
    made.set(index, value);
    return value;
  };
  const type = schema?.['x-kubernetes-list-type'];
  const keys = schema?.['x-kubernetes-list-map-keys'] ?? [];
  if (type === 'set') return new CelList(list.length, at, (item) => keyText(item, undefined));
  return new CelList(list.length, at, type === 'map' ? (item) => keyText(item, keys) : undefined);
}

const keyText = (item: Value, keys: readonly string[] | undefined): string =>
  item instanceof JsonMap
    ? keyOf(item.json, keys ?? Object.keys(item.json))
    : `${typeof item} ${typeof item === 'object' ? '' : String(item)}`;

/** An object of a schema, or a map with arbitrary keys. */
class JsonMap extends CelMap {
  readonly json: JsonObject;
  readonly isObject: boolean;
  readonly #schema: JsonSchema | undefined;
  readonly #names: ReadonlyMap<string, string> | undefined;
  #made: Map<string, Value> | undefined;

  constructor(json: JsonObject, schema: JsonSchema | undefined) {
    super();
    this.json = json;
    this.#schema = schema;
    this.isObject = schema?.properties !== undefined;
    this.#names = schema?.properties === undefined ? undefined : namesOf(schema);
  }

  get size(): number {
    return this.keys().length;
  }

  /** The value of a key; null is the same as absent. */
  get(key: Value): Value | undefined {
    if (typeof key !== 'string') return undefined;
    const name = this.#names === undefined ? key : this.#names.get(key);
    if (name === undefined || !Object.hasOwn(this.json, name)) return undefined;
    const known = this.#made?.get(name);
    if (known !== undefined) return known;
    const json = this.json[name];
    if (json === null || json === undefined) return undefined;
    const schema = this.#schema;
    const value = celValueOf(json, schema && (propertyOf(schema, name) ?? valuesOf(schema)));
    (this.#made ??= new Map()).set(name, value);
    return value;
  }

  keys(): readonly Value[] {
    const names = this.#names === undefined ? Object.keys(this.json) : [...this.#names.keys()];
    return names.filter((name) => this.get(name) !== undefined);
  }
}

// Escaped name → name, for each schema.
const fieldNames = new WeakMap<JsonSchema, ReadonlyMap<string, string>>();

function namesOf(schema: JsonSchema): ReadonlyMap<string, string> {
  const known = fieldNames.get(schema);
  if (known !== undefined) return known;
  const names = new Map(
    Object.keys(schema.properties ?? {}).flatMap((name) => {
      const field = escaped(name);
      return field === undefined ? [] : [[field, name] as const];
    }),
  );
  fieldNames.set(schema, names);
  return names;
}
