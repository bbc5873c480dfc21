import type { Field, ListSchema, ScalarType, Schema, StructSchema } from '../../api/schema/schema.ts';

/** The OpenAPI version of a document. */
export type Dialect = 'v2' | 'v3';

type JsonSchema = Readonly<Record<string, unknown>>;

const scalars = {
  boolean: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
  bytes: { type: 'string', format: 'byte' },
  json: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
} satisfies Partial<Record<ScalarType, JsonSchema>>;

/** Scalars with named definitions in Kubernetes; `kubectl explain` prints the name of IntOrString. */
const namedScalars = {
  time: 'io.k8s.apimachinery.pkg.apis.meta.v1.Time',
  microTime: 'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime',
  quantity: 'io.k8s.apimachinery.pkg.api.resource.Quantity',
  intOrString: 'io.k8s.apimachinery.pkg.util.intstr.IntOrString',
} satisfies Partial<Record<ScalarType, string>>;

/** The definitions of named scalars, by name. */
export const scalarDefinitions = (dialect: Dialect): Readonly<Record<string, JsonSchema>> => ({
  [namedScalars.time]: { description: 'A time in RFC 3339, to the second.', type: 'string', format: 'date-time' },
  [namedScalars.microTime]: {
    description: 'A time in RFC 3339, to the microsecond.',
    type: 'string',
    format: 'date-time',
  },
  [namedScalars.quantity]: {
    description: 'A number with an optional suffix, such as 100m, 1.5 or 2Gi.',
    ...(dialect === 'v3' ? { oneOf: [{ type: 'string' }, { type: 'number' }] } : { type: 'string' }),
  },
  [namedScalars.intOrString]: {
    description: 'A number or a string.',
    format: 'int-or-string',
    ...(dialect === 'v3' ? { oneOf: [{ type: 'integer' }, { type: 'string' }] } : { type: 'string' }),
  },
});

/** The reference to a named schema. */
export const refTo = (name: string, dialect: Dialect): string =>
  dialect === 'v3' ? `#/components/schemas/${name}` : `#/definitions/${name}`;

/** All structs that are reachable from `roots`, by name. */
export function reachableStructs(roots: readonly StructSchema[]): ReadonlyMap<string, StructSchema> {
  const found = new Map<string, StructSchema>();
  const visit = (schema: Schema): void => {
    if (schema.type === 'list') return visit(schema.items);
    if (schema.type === 'map') return visit(schema.values);
    if (schema.type !== 'struct') return;
    const known = found.get(schema.name);
    // A struct may be atomic in some fields only: then the property declares it, not the shared definition.
    if (known === undefined || (known.atomic && !schema.atomic)) found.set(schema.name, schema);
    if (known === undefined) for (const field of Object.values(schema.fields)) visit(field.schema);
  };
  roots.forEach(visit);
  return found;
}

/** The definition of a struct. */
export function structDefinition(schema: StructSchema, dialect: Dialect): JsonSchema {
  const fields = Object.entries(schema.fields);
  const required = fields.filter(([, field]) => field.required).map(([name]) => name);
  return {
    description: schema.description,
    type: 'object',
    ...(fields.length > 0
      ? { properties: Object.fromEntries(fields.map(([name, field]) => [name, property(field, dialect)])) }
      : {}),
    ...(required.length > 0 ? { required } : {}),
    ...(schema.atomic ? { 'x-kubernetes-map-type': 'atomic' } : {}),
    ...(schema.open ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
    ...schema.published?.(dialect),
  };
}

function property(field: Field, dialect: Dialect): JsonSchema {
  const { schema, description, presence } = field;
  if (schema.type === 'opaque') return { description, ...schema.published(dialect) };
  const isEmbedded = schema.type === 'struct' && presence === 'always';
  const standard = field.default ?? (isEmbedded ? {} : undefined);
  return {
    description,
    ...(standard === undefined ? {} : { default: standard }),
    ...withDescription(valueSchema(schema, dialect), dialect),
    ...(schema.type === 'struct' ? structExtensions(schema) : {}),
  };
}

/** v3 allows a description beside a reference only with `allOf`. */
const withDescription = (schema: JsonSchema, dialect: Dialect): JsonSchema =>
  dialect === 'v3' && '$ref' in schema ? { allOf: [schema] } : schema;

const structExtensions = (schema: StructSchema): JsonSchema => ({
  ...(schema.atomic ? { 'x-kubernetes-map-type': 'atomic' } : {}),
  ...(schema.retainKeys ? { 'x-kubernetes-patch-strategy': 'retainKeys' } : {}),
  ...(schema.isReplaced === true ? { 'x-kubernetes-patch-strategy': 'replace' } : {}),
});

function valueSchema(schema: Schema, dialect: Dialect): JsonSchema {
  if (schema.type === 'struct') return { $ref: refTo(schema.name, dialect) };
  if (schema.type === 'list') return listSchema(schema, dialect);
  if (schema.type === 'map') {
    return {
      type: 'object',
      additionalProperties: valueSchema(schema.values, dialect),
      ...(schema.atomic ? { 'x-kubernetes-map-type': 'atomic' } : {}),
    };
  }
  if (schema.type === 'opaque') return schema.published(dialect);
  if (schema.type === 'string') return { type: 'string', ...(schema.enum ? { enum: schema.enum.toSorted() } : {}) };
  if (Object.hasOwn(scalars, schema.type)) return scalars[schema.type as keyof typeof scalars];
  return { $ref: refTo(namedScalars[schema.type as keyof typeof namedScalars], dialect) };
}

function listSchema({ items, listType, keys, patch }: ListSchema, dialect: Dialect): JsonSchema {
  return {
    type: 'array',
    items: valueSchema(items, dialect),
    'x-kubernetes-list-type': listType,
    ...(keys.length > 0 ? { 'x-kubernetes-list-map-keys': keys } : {}),
    ...(patch === undefined ? {} : { 'x-kubernetes-patch-strategy': patch.retainKeys ? 'merge,retainKeys' : 'merge' }),
    ...(patch?.key === undefined ? {} : { 'x-kubernetes-patch-merge-key': patch.key }),
  };
}
