import type { Field, ListSchema, ScalarType, Schema, StructSchema } from '../../api/schema/schema.ts';

/** Which OpenAPI a document is written in. */
export type Dialect = 'v2' | 'v3';

type JsonSchema = Readonly<Record<string, unknown>>;

const intOrString: Readonly<Record<Dialect, JsonSchema>> = {
  v2: { type: 'string', format: 'int-or-string' },
  v3: { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] },
};

const scalars: Readonly<Record<Exclude<ScalarType, 'intOrString'>, JsonSchema>> = {
  boolean: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
  bytes: { type: 'string', format: 'byte' },
  time: { type: 'string', format: 'date-time' },
  microTime: { type: 'string', format: 'date-time' },
  quantity: { type: 'string' },
  json: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
};

/** The path under which a dialect keeps named schemas. */
export const refTo = (name: string, dialect: Dialect): string =>
  dialect === 'v3' ? `#/components/schemas/${name}` : `#/definitions/${name}`;

/** Every struct that is reachable from `roots`, by name. */
export function reachableStructs(roots: readonly StructSchema[]): ReadonlyMap<string, StructSchema> {
  const found = new Map<string, StructSchema>();
  const visit = (schema: Schema): void => {
    if (schema.type === 'list') return visit(schema.items);
    if (schema.type === 'map') return visit(schema.values);
    if (schema.type !== 'struct') return;
    const known = found.get(schema.name);
    // A struct may be atomic in some fields only: then the property says so, and the shared definition does not.
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
  };
}

function property(field: Field, dialect: Dialect): JsonSchema {
  const { schema, description, presence } = field;
  const isEmbedded = schema.type === 'struct' && presence === 'always';
  const standard = field.default ?? (isEmbedded ? {} : undefined);
  return {
    description,
    ...(standard === undefined ? {} : { default: standard }),
    ...(schema.type === 'struct' ? reference(schema, dialect) : valueSchema(schema, dialect)),
  };
}

/** A reference inside a property, where v3 allows a description beside it only by `allOf`. */
const reference = (schema: StructSchema, dialect: Dialect): JsonSchema => ({
  ...(dialect === 'v3' ? { allOf: [{ $ref: refTo(schema.name, dialect) }] } : { $ref: refTo(schema.name, dialect) }),
  ...(schema.atomic ? { 'x-kubernetes-map-type': 'atomic' } : {}),
  ...(schema.retainKeys ? { 'x-kubernetes-patch-strategy': 'retainKeys' } : {}),
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
  if (schema.type === 'string') return { type: 'string', ...(schema.enum ? { enum: schema.enum } : {}) };
  return schema.type === 'intOrString' ? intOrString[dialect] : scalars[schema.type];
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
