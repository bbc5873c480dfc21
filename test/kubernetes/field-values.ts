// Every field of a kind with values that a server accepts, defaults, changes or rejects.

import type { Kind } from '../../src/api/kind.ts';
import type { FieldMap, Schema } from '../../src/api/schema/schema.ts';
import { smallValue, withValue } from '../hostile/work/fields.ts';

type Step = string | 0;

/** An object with one unusual value. */
export interface Variation {
  readonly path: string;
  readonly value: unknown;
  readonly object: object;
}

/** A struct may contain itself, and the template of Pods is below five levels in CronJobs. */
const deepest = 14;

/** What a Pod template contains is the same in every kind: it is varied in Pods only. */
const isTemplate = (path: readonly Step[]): boolean => path.at(-1) === 'spec' && path.at(-2) === 'template';

/** All variations of a valid object: each field, except the status, with each value for its type. */
export function* variationsOf(kind: Kind, valid: object): Generator<Variation> {
  const { status: _, apiVersion: _version, kind: _kind, ...fields } = kind.schema.fields;
  for (const [path, schema] of fieldsBelow(fields, [])) {
    for (const value of valuesFor(schema)) {
      yield { path: path.join('.'), value, object: withValue(withItems(valid, path, kind), path, value) as object };
    }
  }
}

function* fieldsBelow(fields: FieldMap, path: readonly Step[]): Generator<readonly [readonly Step[], Schema]> {
  for (const [name, field] of Object.entries(fields)) yield* below(field.schema, [...path, name]);
}

function* below(schema: Schema, path: readonly Step[]): Generator<readonly [readonly Step[], Schema]> {
  if (path.length > deepest || path.at(-1) === 'managedFields') return;
  yield [path, schema];
  if (isTemplate(path)) return;
  if (schema.type === 'struct') yield* fieldsBelow(schema.fields, path);
  if (schema.type === 'list') yield* below(schema.items, [...path, 0]);
  if (schema.type === 'map' && schema.values.type !== 'string') yield* below(schema.values, [...path, 'key']);
}

/** The object with an item in every list above the field. */
function withItems(valid: object, path: readonly Step[], kind: Kind): unknown {
  let object: unknown = valid;
  let schema: Schema | undefined = kind.schema;
  for (const [index, step] of path.entries()) {
    schema = childOf(schema, step);
    const here = path.slice(0, index + 1);
    if (step === 0 && index < path.length - 1 && schema !== undefined && valueAt(object, here) === undefined)
      object = withValue(object, here, smallValue(schema, 0, String(path[index - 1])));
  }
  return object;
}

function childOf(schema: Schema | undefined, step: Step): Schema | undefined {
  if (schema?.type === 'struct') return schema.fields[step]?.schema;
  if (schema?.type === 'list') return schema.items;
  return schema?.type === 'map' ? schema.values : undefined;
}

const valueAt = (target: unknown, path: readonly Step[]): unknown =>
  path.reduce<unknown>(
    (value, step) => (typeof value === 'object' && value !== null ? (Reflect.get(value, step) as unknown) : undefined),
    target,
  );

function valuesFor(schema: Schema): readonly unknown[] {
  switch (schema.type) {
    case 'string':
      return [
        ...(schema.enum ?? []),
        '',
        'a',
        'Not Valid!',
        5,
        ...(schema.enum === undefined ? ['n'.repeat(300)] : []),
      ];
    case 'boolean':
      return [true, false, 'true'];
    case 'int32':
    case 'int64':
      return [-1, 0, 1, 70_000, 2 ** 31, 1.5, '1'];
    case 'double':
      return [-1.5, 0, 'x'];
    case 'quantity':
      return ['-1', '1', '0.5', '1500m', 'x', 2];
    case 'intOrString':
      return [-1, 0, 80, 70_000, 'a', 'Not Valid!', '50%', '150%'];
    case 'time':
    case 'microTime':
      return ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.5+02:00', 'yesterday', null];
    case 'bytes':
      return ['', 'AAEC', '!'];
    case 'json':
    case 'opaque':
      return [{}, 'a', 1];
    case 'map':
      return [{}, { a: smallValue(schema.values, 0, '') }, { 'Not Valid!': smallValue(schema.values, 0, '') }, 'a'];
    case 'list':
      return [[], [smallValue(schema.items, 0, ''), smallValue(schema.items, 0, '')], 'a'];
    case 'struct':
      return [{}, null, 'a', { unknownField: 1 }];
  }
}
