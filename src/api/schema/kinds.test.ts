import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { kinds } from '../kinds/registry.ts';
import { arbitraryStruct } from './testing/arbitrary.ts';
import { decode } from './decode.ts';
import { decodeProtobuf, encodeProtobuf } from './protobuf.ts';
import type { Schema, StructSchema } from './schema.ts';

/** Every struct of a schema, once. */
function structsOf(schema: Schema, found = new Set<StructSchema>()): ReadonlySet<StructSchema> {
  if (schema.type === 'list') return structsOf(schema.items, found);
  if (schema.type === 'map') return structsOf(schema.values, found);
  if (schema.type !== 'struct' || found.has(schema)) return found;
  found.add(schema);
  for (const field of Object.values(schema.fields)) structsOf(field.schema, found);
  return found;
}

/** Where protobuf keeps each field; wrappers of inline fields count once. */
function placesOf({ fields }: StructSchema): readonly string[] {
  const numbered = Object.values(fields).filter(({ number }) => number !== 0);
  const paths = numbered.map(({ number, inline = [] }) => [...[inline].flat(), number]);
  const wrappers = new Set(
    paths.flatMap((path) => path.slice(1).map((_, index) => path.slice(0, index + 1).join('.'))),
  );
  return [...wrappers, ...paths.map((path) => path.join('.'))];
}

/**
 * What protobuf preserves: no nulls, empty lists and empty objects, which are equal in a list or map, and
 * no kind and version, which only an envelope has.
 */
function preserved(schema: Schema, value: unknown): unknown {
  if (Array.isArray(value) && schema.type === 'list') return value.map((item) => preserved(schema.items, item));
  if (typeof value !== 'object' || value === null || (schema.type !== 'struct' && schema.type !== 'map')) return value;
  const fields = Object.entries(value).map(([name, item]): [string, unknown] => {
    if (schema.type === 'map') return [name, preserved(schema.values, item)];
    const field = schema.fields[name];
    return [name, field === undefined || field.number === 0 ? null : preserved(field.schema, item)];
  });
  return Object.fromEntries(fields.filter(([, field]) => !isEmpty(field)));
}

const isEmpty = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.keys(value).length === 0);

for (const { kind, group, version, schema } of kinds) {
  const name = `${kind}.${version}.${group}`;

  test(`${name}: no two fields share a protobuf number`, () => {
    for (const struct of structsOf(schema)) {
      const places = placesOf(struct);
      assert.equal(new Set(places).size, places.length, struct.name);
    }
  });

  test(`${name}: decoding is idempotent, and protobuf preserves objects`, () => {
    fc.assert(
      fc.property(arbitraryStruct(schema), (given) => {
        const { object, unknown } = decode(schema, given);
        assert.deepEqual(unknown, []);
        assert.deepEqual(decode(schema, object).object, object);
        const once = decodeProtobuf(schema, encodeProtobuf(schema, object));
        assert.deepEqual(decodeProtobuf(schema, encodeProtobuf(schema, once)), once);
        assert.deepEqual(preserved(schema, once), preserved(schema, object));
      }),
      { numRuns: 10 },
    );
  });
}
