// Kubernetes' rules for schemas in CustomResourceDefinitions beyond those of structural schemas.

import type { FieldError } from '../field-errors.ts';
import { forbiddenField, invalidValue, notSupported, required } from '../field-errors.ts';
import type { JsonSchema } from './json-schema.ts';
import { itemsOf, propertyOf, valuesOf } from './json-schema.ts';
import { validationRuleErrors } from './rule-errors.ts';

/** Where a schema is in the schema of a resource. */
interface Place {
  readonly path: string;
  readonly isRoot: boolean;
  /** Why defaults are forbidden; undefined: they are allowed. */
  readonly noDefaults: string | undefined;
  readonly isInMetadata: boolean;
}

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const metaFields: ReadonlySet<string> = new Set(['metadata', 'kind', 'apiVersion']);

/** The errors of the schema of a resource at `path`. */
export const openApiErrors = (schema: JsonSchema, path: string): FieldError[] =>
  errorsOf(schema, { path, isRoot: true, noDefaults: undefined, isInMetadata: false });

function errorsOf(schema: JsonSchema, place: Place): FieldError[] {
  const { path } = place;
  return [
    ...unsupportedErrors(schema, place),
    ...(schema.uniqueItems === true
      ? [
          forbiddenField(
            `${path}.uniqueItems`,
            'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
          ),
        ]
      : []),
    ...nestedErrors(schema, place),
    ...extensionErrors(schema, path),
    ...listTypeErrors(schema, path),
    ...listKeyErrors(schema, path),
    ...validationRuleErrors(schema, path),
  ];
}

function unsupportedErrors(schema: JsonSchema, { path, noDefaults, isInMetadata }: Place): FieldError[] {
  const { type } = schema;
  const unsupported = (
    ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref'] as const
  ).filter((key) => schema[key] !== undefined);
  return [
    ...(type !== undefined && !types.includes(type) ? [notSupported(`${path}.type`, type, types)] : []),
    ...(schema.default !== undefined && noDefaults !== undefined
      ? [forbiddenField(`${path}.default`, `must not be set ${noDefaults}`)]
      : []),
    ...unsupported.map((key) => forbiddenField(`${path}.${key}`, `${key} is not supported`)),
    ...(type === 'null'
      ? [forbiddenField(`${path}.type`, 'type cannot be set to null, use nullable as an alternative')]
      : []),
    ...(Array.isArray(schema.items)
      ? [forbiddenField(`${path}.items`, 'items must be a schema object and not an array')]
      : []),
    ...(isInMetadata && schema['x-kubernetes-embedded-resource'] === true
      ? [forbiddenField(`${path}.x-kubernetes-embedded-resource`, 'must not be used inside of resource meta')]
      : []),
  ];
}

function nestedErrors(schema: JsonSchema, place: Place): FieldError[] {
  const { path } = place;
  const { properties = {}, additionalProperties, not } = schema;
  const at = (step: string, change: Partial<Place> = {}): Place => ({
    ...place,
    isRoot: false,
    path: `${path}.${step}`,
    ...change,
  });
  const items = itemsOf(schema);
  const values = valuesOf(schema);
  const isStruct = Object.keys(properties).length > 0;
  return [
    ...(isStruct && additionalProperties !== undefined && additionalProperties !== true
      ? [forbiddenField(`${path}.additionalProperties`, 'additionalProperties and properties are mutual exclusive')]
      : []),
    ...(values === undefined
      ? []
      : errorsOf(
          values,
          at(
            'additionalProperties',
            place.isInMetadata ? { noDefaults: 'inside additionalProperties applying to object metadata' } : {},
          ),
        )),
    ...Object.entries(properties).flatMap(([name, property]) =>
      errorsOf(property, at(`properties[${name}]`, propertyPlace(schema, name, place))),
    ),
    ...(not === undefined ? [] : errorsOf(not, at('not'))),
    ...(['allOf', 'oneOf', 'anyOf'] as const).flatMap((junctor) =>
      (schema[junctor] ?? []).flatMap((inner, index) => errorsOf(inner, at(`${junctor}[${index}]`))),
    ),
    ...(items === undefined ? [] : errorsOf(items, at('items'))),
  ];
}

function propertyPlace(schema: JsonSchema, name: string, { isRoot }: Place): Partial<Place> {
  const isMetadata = (isRoot || schema['x-kubernetes-embedded-resource'] === true) && metaFields.has(name);
  if (!isMetadata) return {};
  return { isInMetadata: true, ...(isRoot ? { noDefaults: `in top-level ${name}` } : {}) };
}

function extensionErrors(schema: JsonSchema, path: string): FieldError[] {
  const mapType = schema['x-kubernetes-map-type'];
  const errors: FieldError[] = [];
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    errors.push(invalidValue(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'));
  }
  if (mapType !== undefined && schema.type !== 'object') {
    const detail = 'must be object if x-kubernetes-map-type is specified';
    errors.push(
      schema.type === undefined ? required(`${path}.type`, detail) : invalidValue(`${path}.type`, schema.type, detail),
    );
  }
  if (mapType !== undefined && mapType !== 'atomic' && mapType !== 'granular') {
    errors.push(notSupported(`${path}.x-kubernetes-map-type`, mapType, ['atomic', 'granular']));
  }
  return errors;
}

const listTypes = ['atomic', 'set', 'map'];

function listTypeErrors(schema: JsonSchema, path: string): FieldError[] {
  const listType = schema['x-kubernetes-list-type'];
  if (listType === undefined) return [];
  const errors: FieldError[] = [];
  if (schema.type !== 'array') {
    const detail = 'must be array if x-kubernetes-list-type is specified';
    errors.push(
      schema.type === undefined ? required(`${path}.type`, detail) : invalidValue(`${path}.type`, schema.type, detail),
    );
  } else if (listType === 'set') errors.push(...setItemErrors(itemsOf(schema), path));
  if (!listTypes.includes(listType)) errors.push(notSupported(`${path}.x-kubernetes-list-type`, listType, listTypes));
  return errors;
}

function setItemErrors(items: JsonSchema | undefined, path: string): FieldError[] {
  const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  const listType = items?.['x-kubernetes-list-type'];
  if (items?.type === 'array' && listType !== undefined && listType !== 'atomic') {
    return [invalidValue(`${path}.items.x-kubernetes-list-type`, listType, detail)];
  }
  if (items?.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
    return [invalidValue(`${path}.items.x-kubernetes-map-type`, listType ?? null, detail)];
  }
  return [];
}

function listKeyErrors(schema: JsonSchema, path: string): FieldError[] {
  const listType = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const items = itemsOf(schema);
  const errors: FieldError[] = [];
  if (keys.length > 0 && listType !== 'map') {
    const detail = 'must be map if x-kubernetes-list-map-keys is non-empty';
    const at = `${path}.x-kubernetes-list-type`;
    errors.push(listType === undefined ? required(at, detail) : invalidValue(at, listType, detail));
  }
  if (listType === 'map') {
    const at = `${path}.x-kubernetes-list-map-keys`;
    if (keys.length === 0) errors.push(required(at, 'must not be empty if x-kubernetes-list-type is map'));
    if (items === undefined) {
      errors.push(required(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map'));
    } else if (items.type !== 'object') {
      const detail = "must be object if parent array's x-kubernetes-list-type is map";
      errors.push(invalidValue(`${path}.items.type`, items.type ?? '', detail));
    } else errors.push(...keyErrors(keys, items, path));
  }
  return [...errors, ...ambiguousItemErrors(schema, path)];
}

function keyErrors(keys: readonly string[], items: JsonSchema, path: string): FieldError[] {
  const at = `${path}.x-kubernetes-list-map-keys`;
  // Each of these prints all keys.
  const invalidKeys = (why: string): (() => FieldError) => {
    let made: FieldError | undefined;
    return () => (made ??= invalidValue(at, keys, why));
  };
  const unknown = invalidKeys('entries must all be names of item properties');
  const repeated = invalidKeys('must not contain duplicate entries');
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const key of keys) {
    const property = propertyOf(items, key);
    if (property === undefined) errors.push(unknown());
    else if (property.type === 'array' || property.type === 'object') {
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      errors.push(invalidValue(`${path}.items.properties[${key}].type`, items.type, detail));
    }
    if (seen.has(key)) errors.push(repeated());
    seen.add(key);
  }
  return errors;
}

/** Items of sets and of lists with keys must be identifiable. */
function ambiguousItemErrors(schema: JsonSchema, path: string): FieldError[] {
  const listType = schema['x-kubernetes-list-type'];
  const items = itemsOf(schema);
  if (items === undefined || (listType !== 'set' && listType !== 'map')) return [];
  const errors: FieldError[] = [];
  if (items.nullable === true) {
    errors.push(
      forbiddenField(`${path}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${listType}`),
    );
  }
  const needed = new Set(items.required);
  for (const key of listType === 'map' ? (schema['x-kubernetes-list-map-keys'] ?? []) : []) {
    const property = propertyOf(items, key);
    const at = `${path}.items.properties[${key}]`;
    const isKey = 'this property is in x-kubernetes-list-map-keys, so it';
    if (property === undefined) continue;
    if (!needed.has(key) && property.default === undefined) {
      errors.push(required(`${at}.default`, `${isKey} must have a default or be a required property`));
    }
    if (property.nullable === true) errors.push(forbiddenField(`${at}.nullable`, `${isKey} cannot be nullable`));
  }
  return errors;
}
