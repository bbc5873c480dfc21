import { objectSchema } from '../metadata.ts';
import type { FieldMap, OpaqueSchema, StructSchema } from '../schema/schema.ts';
import { pointer } from '../schema/schema.ts';
import type { JsonSchema } from './json-schema.ts';
import { mergeSchema } from './merge-schema.ts';
import { prune } from './prune.ts';
import { published } from './publish.ts';

/** A part of a custom resource: pruned when it is read, and validated later. */
const opaque = (schema: JsonSchema): OpaqueSchema => ({
  type: 'opaque',
  goType: 'interface {}',
  isNullable: schema.nullable === true || schema.default !== undefined,
  read: (value, dropped) => prune(value, schema, dropped),
  merged: mergeSchema(schema),
  published: (dialect) => published(schema, dialect),
});

const metaFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** Removes all but the type from an OpenAPI definition. */
const typeOnly = {
  description: undefined,
  properties: undefined,
  required: undefined,
  'x-kubernetes-preserve-unknown-fields': undefined,
};

/** The schema of custom resources without a schema, which keep all fields. */
export const openObjectSchema = (name: string): StructSchema => ({
  ...objectSchema(name, '', {}, { open: true }),
  published: () => typeOnly,
});

/** The schema of custom resources, whose parts have a structural schema. `name` is that of the OpenAPI definition. */
export function customObjectSchema(name: string, schema: JsonSchema): StructSchema {
  const required = new Set(schema.required ?? []);
  const fields: FieldMap = Object.fromEntries(
    Object.entries(schema.properties ?? {})
      .filter(([field]) => !metaFields.has(field))
      .map(([field, property]) => [
        field,
        pointer(0, opaque(property), property.description ?? '', required.has(field) ? { required: true } : {}),
      ]),
  );
  const { properties: _, required: __, description = '', type: ___, ...rules } = schema;
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const object = objectSchema(name, description, fields, { open: isOpen });
  // As in Kubernetes, OpenAPI v2 declares nothing of objects with any fields: kubectl would reject all other fields.
  return { ...object, published: (dialect) => (dialect === 'v3' ? published(rules, dialect) : isOpen ? typeOnly : {}) };
}
