// JSONSchemaProps: the schema of a custom resource, or of a part of it, as a CustomResourceDefinition declares it.

import type { JsonObject } from '../schema/json-object.ts';
import { isEmptyObject, isJsonObject, setField } from '../schema/json-object.ts';
import { wrongNumber, wrongType } from '../schema/mismatch.ts';
import type { OpaqueSchema } from '../schema/schema.ts';
import { json } from '../schema/schema.ts';
import type { FieldType } from './json-schema-fields.ts';
import { fieldsOf } from './json-schema-fields.ts';
import { jsonSchemaWire } from './json-schema-wire.ts';

/** A CEL rule, see `x-kubernetes-validations`. */
export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

type Schemas = Readonly<Record<string, JsonSchema>>;

/** A schema as it was sent: it need not be structural. */
export interface JsonSchema {
  readonly id?: string;
  readonly $schema?: string;
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly title?: string;
  readonly default?: unknown;
  readonly maximum?: number;
  readonly exclusiveMaximum?: boolean;
  readonly minimum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly maxItems?: number;
  readonly minItems?: number;
  readonly uniqueItems?: boolean;
  readonly multipleOf?: number;
  readonly enum?: readonly unknown[];
  readonly maxProperties?: number;
  readonly minProperties?: number;
  readonly required?: readonly string[];
  readonly items?: JsonSchema | readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly not?: JsonSchema;
  readonly properties?: Schemas;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly patternProperties?: Schemas;
  readonly dependencies?: Readonly<Record<string, JsonSchema | readonly string[]>>;
  readonly additionalItems?: JsonSchema | boolean;
  readonly definitions?: Schemas;
  readonly externalDocs?: Readonly<Record<string, string>>;
  readonly example?: unknown;
  readonly nullable?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[];
}

/** The schema of the items of a list, if it is one schema. */
export const itemsOf = ({ items }: JsonSchema): JsonSchema | undefined =>
  items === undefined || Array.isArray(items) ? undefined : (items as JsonSchema); // `isArray` does not narrow read-only arrays

/** The schema of undeclared properties, if there is one. */
export const valuesOf = ({ additionalProperties: values }: JsonSchema): JsonSchema | undefined =>
  typeof values === 'boolean' ? undefined : values;

/** The schema of a declared property. */
export const propertyOf = ({ properties }: JsonSchema, name: string): JsonSchema | undefined =>
  properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;

/**
 * Whether a structural schema or a part of it passes a test. Results are kept, since most schemas pass in few of their parts,
 * and the others need not be visited for each object.
 */
export function anyPart(test: (schema: JsonSchema) => boolean): (schema: JsonSchema | undefined) => boolean {
  const known = new WeakMap<JsonSchema, boolean>();
  const passes = (schema: JsonSchema | undefined): boolean => {
    if (schema === undefined) return false;
    const found = known.get(schema);
    if (found !== undefined) return found;
    const result =
      test(schema) ||
      passes(itemsOf(schema)) ||
      passes(valuesOf(schema)) ||
      Object.values(schema.properties ?? {}).some(passes);
    known.set(schema, result);
    return result;
  };
  return passes;
}

/** The field `openAPIV3Schema` of a CustomResourceDefinition. */
export const jsonSchema: OpaqueSchema<JsonSchema> = {
  type: 'opaque',
  goType: 'v1.JSONSchemaProps',
  isNullable: false,
  read: (value, dropped) => readMessage('schema', value, { path: [], dropped }) as JsonSchema, // it was just checked
  merged: json,
  published: () => ({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }),
  wire: jsonSchemaWire,
};

interface Place {
  /** The path of the part that is being read. */
  readonly path: (string | number)[];
  readonly dropped: (path: readonly (string | number)[]) => void;
}

/** Reads the part at a step below. */
function below(place: Place, step: string | number, read: () => unknown): unknown {
  place.path.push(step);
  const result = read();
  place.path.pop();
  return result;
}

function readMessage(message: 'schema' | 'rule' | 'docs', value: unknown, place: Place): JsonObject {
  if (!isJsonObject(value)) throw wrongType(value, 'v1.JSONSchemaProps');
  const fields = fieldsOf(message);
  const result: JsonObject = {};
  for (const [name, { type, isPointer }] of fields) {
    const given = Object.hasOwn(value, name) ? value[name] : undefined;
    if (given === undefined || given === null) continue;
    const read = below(place, name, () => readField(type, given, place));
    if (isPointer || !isZero(read)) result[name] = read;
  }
  for (const name of Object.keys(value)) if (!fields.has(name)) place.dropped([...place.path, name]);
  if (message === 'rule') result['rule'] ??= '';
  return result;
}

const isZero = (value: unknown): boolean =>
  value === '' ||
  value === false ||
  (Array.isArray(value) ? value.length === 0 : isJsonObject(value) && isEmptyObject(value));

function readField(type: FieldType, value: unknown, place: Place): unknown {
  switch (type) {
    case 'string':
      if (typeof value !== 'string') throw wrongType(value, 'string');
      return value;
    case 'boolean':
      if (typeof value !== 'boolean') throw wrongType(value, 'bool');
      return value;
    case 'double':
      if (typeof value !== 'number') throw wrongType(value, 'float64');
      return value;
    case 'int64':
      if (typeof value !== 'number') throw wrongType(value, 'int64');
      if (!Number.isInteger(value)) throw wrongNumber(value, 'int64');
      return value;
    case 'json':
      return value;
    case 'jsons':
      return items(value, (item) => item);
    case 'strings':
      return items(value, (item) => readField('string', item, place));
    case 'schema':
      return readMessage('schema', value, place);
    case 'schemas':
      return items(value, (item, index) => below(place, index, () => readMessage('schema', item, place)));
    case 'rules':
      return items(value, (item, index) => below(place, index, () => readMessage('rule', item, place)));
    case 'docs':
      return readMessage('docs', value, place);
    case 'schemaMap':
      return entries(value, (item, name) => below(place, name, () => readMessage('schema', item, place)));
    case 'schemaOrBoolean':
      return typeof value === 'boolean' ? value : readMessage('schema', value, place);
    case 'schemaOrSchemas':
      return readField(Array.isArray(value) ? 'schemas' : 'schema', value, place);
    case 'dependencies':
      return entries(value, (item, name) =>
        below(place, name, () => readField(Array.isArray(item) ? 'strings' : 'schema', item, place)),
      );
  }
}

function items(value: unknown, read: (item: unknown, index: number) => unknown): unknown[] {
  if (!Array.isArray(value)) throw wrongType(value, '[]v1.JSONSchemaProps');
  return value.map(read);
}

function entries(value: unknown, read: (item: unknown, name: string) => unknown): JsonObject {
  if (!isJsonObject(value)) throw wrongType(value, 'map[string]v1.JSONSchemaProps');
  const result: JsonObject = {};
  for (const name of Object.keys(value).sort()) setField(result, name, read(value[name] ?? {}, name));
  return result;
}

/** A schema and all schemas in it. */
export function everySchema(schema: JsonSchema | undefined): readonly JsonSchema[] {
  const found: JsonSchema[] = [];
  const visit = (each: JsonSchema | undefined): void => {
    if (each === undefined) return;
    found.push(each);
    visit(itemsOf(each));
    visit(valuesOf(each));
    visit(each.not);
    for (const nested of [each.allOf, each.anyOf, each.oneOf]) nested?.forEach(visit);
    for (const property of Object.values(each.properties ?? {})) visit(property);
  };
  visit(schema);
  return found;
}
