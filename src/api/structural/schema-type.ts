// The CEL types of the schemas of kinds.

import type { CelType } from '../cel/cel-type.ts';
import { bool, dyn, int, listOf, mapOf, simple, string } from '../cel/cel-type.ts';
import type { Schema, StructSchema } from '../schema/schema.ts';
import { celTypeOf, escaped } from './cel-types.ts';
import type { JsonSchema } from './json-schema.ts';

/** The type of objects of a schema, as expressions of policies read them. */
export const celTypeOfSchema = (schema: StructSchema): CelType => typeOf(schema);

function typeOf(schema: Schema): CelType {
  switch (schema.type) {
    case 'struct':
      return { name: 'object', fields: new Map(Object.entries(schema.fields).flatMap(fieldsOf)) };
    case 'list':
      return listOf(typeOf(schema.items));
    case 'map':
      return mapOf(typeOf(schema.values));
    case 'string':
      return string;
    case 'boolean':
      return bool;
    case 'int32':
    case 'int64':
      return int;
    case 'double':
      return simple('double');
    case 'bytes':
      return { name: 'bytes', max: string.max ?? 0 };
    case 'time':
    case 'microTime':
      return simple('timestamp');
    case 'opaque':
      // The schema of a custom resource is an OpenAPI schema.
      return celTypeOf(schema.published('v3') as JsonSchema) ?? dyn;
    case 'quantity':
    case 'intOrString':
    case 'json':
      return dyn;
  }
}

/** A field under its own name and the name that keywords have in typed expressions. */
function fieldsOf([name, { schema }]: readonly [string, { readonly schema: Schema }]): (readonly [string, CelType])[] {
  const type = typeOf(schema);
  const other = escaped(name);
  return other === undefined || other === name
    ? [[name, type]]
    : [
        [name, type],
        [other, type],
      ];
}
