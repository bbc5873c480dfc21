import type { JsonSchema } from './json-schema.ts';
import { itemsOf, valuesOf } from './json-schema.ts';

type Published = Readonly<Record<string, unknown>>;

/** A structural schema as OpenAPI documents contain it. */
export const published = (schema: JsonSchema, dialect: 'v2' | 'v3'): Published =>
  dialect === 'v3' ? inVersion3(schema) : inVersion2(schema);

const mapped = (schemas: Readonly<Record<string, JsonSchema>>, dialect: 'v2' | 'v3'): Published =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, published(schema, dialect)]));

function inVersion3(schema: JsonSchema): Published {
  const { items: _items, properties, additionalProperties, allOf, anyOf, oneOf, not, ...plain } = schema;
  const item = itemsOf(schema);
  const all = (schemas: readonly JsonSchema[]): readonly Published[] => schemas.map(inVersion3);
  return {
    ...plain,
    ...(schema['x-kubernetes-embedded-resource'] === true || properties !== undefined
      ? { properties: { ...mapped(properties ?? {}, 'v3'), ...embeddedProperties(schema, 'v3') } }
      : {}),
    ...(item === undefined ? {} : { items: inVersion3(item) }),
    ...(additionalProperties === undefined ? {} : { additionalProperties: valuesPublished(schema, 'v3') }),
    ...(allOf && { allOf: all(allOf) }),
    ...(anyOf && { anyOf: all(anyOf) }),
    ...(oneOf && { oneOf: all(oneOf) }),
    ...(not && { not: inVersion3(not) }),
  };
}

/**
 * OpenAPI v2 has neither `nullable` nor alternatives. As in Kubernetes, values that may be null or have undeclared fields
 * are published without a type, so that clients do not reject them.
 */
function inVersion2(schema: JsonSchema): Published {
  const {
    items: _items,
    properties,
    additionalProperties,
    allOf: _allOf,
    anyOf: _anyOf,
    oneOf: _oneOf,
    not: _not,
    nullable,
    default: _default,
    ...plain
  } = schema;
  const { type: _type, ...untyped } = plain;
  const isLoose = nullable === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (isLoose) return nullable === true ? untyped : plain;
  if (schema['x-kubernetes-int-or-string'] === true) return untyped;
  const item = itemsOf(schema);
  return {
    ...plain,
    ...(schema['x-kubernetes-embedded-resource'] === true || properties !== undefined
      ? { properties: { ...mapped(properties ?? {}, 'v2'), ...embeddedProperties(schema, 'v2') } }
      : {}),
    ...(item === undefined ? {} : { items: inVersion2(item) }),
    ...(additionalProperties === undefined ? {} : { additionalProperties: valuesPublished(schema, 'v2') }),
  };
}

function valuesPublished(schema: JsonSchema, dialect: 'v2' | 'v3'): unknown {
  const values = valuesOf(schema);
  return values === undefined ? schema.additionalProperties : published(values, dialect);
}

function embeddedProperties(schema: JsonSchema, dialect: 'v2' | 'v3'): Published {
  if (schema['x-kubernetes-embedded-resource'] !== true) return {};
  const name = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
  const reference = { $ref: dialect === 'v3' ? `#/components/schemas/${name}` : `#/definitions/${name}` };
  return {
    kind: { type: 'string', description: 'The kind of the object, in CamelCase.' },
    apiVersion: { type: 'string', description: 'APIVersion defines the group and version of this kind.' },
    metadata: dialect === 'v3' ? { description: "Standard object's metadata.", allOf: [reference] } : reference,
  };
}
