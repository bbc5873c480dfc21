import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kind } from '../kind.ts';
import { apiVersionOf } from '../kind.ts';
import type { ApiObject } from '../metadata.ts';
import { decode } from '../schema/decode.ts';
import type { Schema, StructSchema } from '../schema/schema.ts';
import { kindFor, kindNamed, kinds } from './registry.ts';

const nameOf = (kind: Kind): string => `${apiVersionOf(kind)} ${kind.kind}`;

/** Every struct of a schema with the path on which it is first met. */
function structsOf(schema: Schema, path: string, found = new Map<StructSchema, string>()): Map<StructSchema, string> {
  if (schema.type === 'list') return structsOf(schema.items, path, found);
  if (schema.type === 'map') return structsOf(schema.values, path, found);
  if (schema.type !== 'struct' || found.has(schema)) return found;
  found.set(schema, path);
  for (const [name, field] of Object.entries(schema.fields)) structsOf(field.schema, `${path}.${name}`, found);
  return found;
}

/** The shape of a schema without its words, to compare two that share a name. */
function shapeOf(schema: Schema): unknown {
  if (schema.type === 'list') return { ...schema, items: shapeOf(schema.items) };
  if (schema.type === 'map') return { ...schema, values: shapeOf(schema.values) };
  return schema.type === 'struct' ? schema.name : schema;
}

function structShape(struct: StructSchema): unknown {
  const fields = Object.entries(struct.fields).map(([name, { number, presence, inline, schema }]) => ({
    name,
    number,
    presence,
    inline,
    schema: shapeOf(schema),
  }));
  return { atomic: struct.atomic, open: struct.open, retainKeys: struct.retainKeys, fields };
}

for (const kind of kinds) {
  const structs = [...structsOf(kind.schema, kind.kind)];

  test(`${nameOf(kind)}: every struct and field has a description`, () => {
    for (const [struct, path] of structs) {
      assert.notEqual(struct.description, '', path);
      for (const [name, field] of Object.entries(struct.fields))
        assert.notEqual(field.description, '', `${path}.${name}`);
    }
  });

  test(`${nameOf(kind)}: protobuf numbers are unique in each message`, () => {
    for (const [struct, path] of structs) {
      const numbers = Object.entries(struct.fields)
        .filter(([, { number }]) => number > 0)
        .map(([, { number, inline }]) => `${[inline ?? []].flat().join('.')}/${number}`);
      assert.deepEqual(numbers, [...new Set(numbers)], path);
    }
  });

  test(`${nameOf(kind)}: the keys of lists are fields of their items`, () => {
    for (const [struct, path] of structs) {
      for (const [name, { schema }] of Object.entries(struct.fields)) {
        if (schema.type !== 'list') continue;
        const keys = schema.patch?.key === undefined ? schema.keys : [...schema.keys, schema.patch.key];
        if (schema.listType === 'map') assert.notEqual(schema.keys.length, 0, `${path}.${name}`);
        for (const key of keys) {
          assert.ok(
            schema.items.type === 'struct' && Object.hasOwn(schema.items.fields, key),
            `${path}.${name}: ${key}`,
          );
        }
      }
    }
  });

  test(`${nameOf(kind)}: it is found by path and by name`, () => {
    assert.equal(kindFor(kind.group, kind.version, kind.plural), kind);
    assert.equal(kindNamed(kind.group, kind.version, kind.kind), kind);
  });

  test(`${nameOf(kind)}: columns have names and print a minimal object`, () => {
    const names = kind.columns.map(({ name }) => name);
    assert.deepEqual(names, [...new Set(names)]);
    const { object } = decode<ApiObject>(kind.schema, {});
    for (const column of kind.columns)
      assert.match(typeof column.cell(object, 0), /^(?:string|number|boolean)$/, column.name);
  });
}

test('structs with the same OpenAPI name are equal', () => {
  const shapes = new Map<string, unknown>();
  for (const kind of kinds) {
    for (const [struct, path] of structsOf(kind.schema, nameOf(kind))) {
      const shape = structShape(struct);
      const known = shapes.get(struct.name);
      if (known === undefined) shapes.set(struct.name, shape);
      else assert.deepEqual(shape, known, `${struct.name} at ${path}`);
    }
  }
});

test('no two kinds share a short name', () => {
  const owners = new Map<string, string>();
  for (const kind of kinds.filter(({ storage }) => storage === undefined)) {
    for (const name of kind.shortNames) {
      assert.equal(owners.get(name) ?? nameOf(kind), nameOf(kind), name);
      owners.set(name, nameOf(kind));
    }
  }
});

test('the storage version precedes other versions', () => {
  for (const [index, { storage, kind }] of kinds.entries()) {
    if (storage !== undefined) assert.ok(kinds.indexOf(storage.kind) < index && kinds.includes(storage.kind), kind);
  }
});
