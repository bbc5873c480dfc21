// Every path in an object of a kind that can hold much data, and values for it.

import type { Kind } from '../../../src/api/kind.ts';
import type { FieldMap, Schema, StructSchema } from '../../../src/api/schema/schema.ts';
import { json } from '../../../src/api/schema/schema.ts';

/** A step into an object: a field, a key of a map, or 0 for the first item of a list. */
type Step = string | 0;

/** A field that can hold any number of items, keys or characters. */
export interface LongField {
  readonly kind: Kind;
  /** The definition of a custom kind, which must exist before its objects. */
  readonly definition?: object;
  readonly path: readonly Step[];
  readonly schema: Schema;
  /** The items that lists on the path need: path and value. */
  readonly items: readonly (readonly [path: readonly Step[], item: unknown])[];
  /** Equal for fields that decoding, patches and apply handle alike. */
  readonly treatment: string;
}

/** Whether clients write objects of the kind. */
export const isWritten = ({ stored, verbs }: Kind): boolean => stored && verbs.includes('create');

const deepest = 12;

/** All long fields of a kind. */
export const longFields = (kind: Kind): LongField[] =>
  [...fieldsBelow(kind.schema, [], [])].map((found) => ({ kind, treatment: treatmentOf(found.schema), ...found }));

type Found = Pick<LongField, 'path' | 'schema' | 'items'>;

function* fieldsBelow(schema: Schema, path: readonly Step[], items: Found['items']): Generator<Found> {
  if (path.length > deepest) return; // a struct may contain itself
  if (schema.type === 'struct' && schema.open && Object.keys(schema.fields).length === 0)
    yield { path, schema: json, items };
  switch (schema.type) {
    case 'struct':
      for (const [name, field] of Object.entries(schema.fields))
        yield* fieldsBelow(field.schema, [...path, name], items);
      return;
    case 'list':
      yield { path, schema, items };
      if (schema.items.type === 'string') return;
      yield* fieldsBelow(
        schema.items,
        [...path, 0],
        [...items, [[...path, 0], smallValue(schema.items, 0, nameOf(path))]],
      );
      return;
    case 'map':
      yield { path, schema, items };
      if (schema.values.type !== 'string') yield* fieldsBelow(schema.values, [...path, 'key'], items);
      return;
    case 'string':
      // A word or a text: texts other than names are handled alike.
      if (path.length > 0 && schema.enum === undefined) yield { path, schema, items };
      return;
    case 'bytes':
    case 'json':
    case 'quantity':
    case 'intOrString':
    case 'time':
    case 'microTime':
      yield { path, schema, items };
      return;
    case 'opaque': // a part of a custom resource
      if (schema.merged.type !== 'json' || path.length > 1) yield* fieldsBelow(schema.merged, path, items);
      return;
    case 'boolean':
    case 'int32':
    case 'int64':
    case 'double':
      return;
  }
}

function treatmentOf(schema: Schema): string {
  if (schema.type === 'map') return `${schema.atomic ? 'atomic ' : ''}map of ${schema.values.type}`;
  if (schema.type !== 'list') return schema.type;
  const { listType, keys, items, patch } = schema;
  const named = listType === 'map' ? ` of ${keys.length} keys` : '';
  const merged = patch === undefined ? 'replaced' : `merged by ${patch.key === undefined ? 'value' : 'key'}`;
  return `${listType} list${named} of ${items.type}, ${merged}${patch?.retainKeys ? ', retains keys' : ''}`;
}

const nameOf = (path: readonly Step[]): string => `${path.findLast((step) => step !== 0) ?? ''}`;

/** The content of a field: `first`, the same items in another order, other characters, or items that `first` lacks. */
export type Turn = 'first' | 'reversed' | 'others';

/** `count` items, keys or characters for a field. */
export function longValue({ schema, path }: LongField, count: number, turn: Turn): unknown {
  const many = <T>(make: (index: number) => T): T[] =>
    Array.from({ length: count }, (_, index) => make(places[turn](index, count)));
  if (schema.type === 'list') return many((index) => smallValue(schema.items, index, nameOf(path)));
  if (schema.type === 'map') {
    return Object.fromEntries(many((index) => [`key-${index}`, smallValue(schema.values, index, '')]));
  }
  if (schema.type === 'json') return Object.fromEntries(many((index) => [`f:${index}`, {}]));
  if (schema.type === 'bytes') return Buffer.alloc(count, turn).toString('base64');
  return (turn === 'first' ? '1' : '2').repeat(count);
}

const places: Readonly<Record<Turn, (index: number, count: number) => number>> = {
  first: (index) => index,
  reversed: (index, count) => count - 1 - index,
  others: (index, count) => count + index,
};

/** A small value, different for each index and valid in most places. */
export function smallValue(schema: Schema, index: number, name: string): unknown {
  switch (schema.type) {
    case 'struct':
      return Object.fromEntries(
        neededFields(schema).map(([field, { schema: below }]) => [field, smallValue(below, index, field)]),
      );
    case 'list':
      return [smallValue(schema.items, index, name)];
    case 'map':
      return { [`key-${index}`]: smallValue(schema.values, index, name) };
    case 'string':
      return schema.enum?.[0] ?? words[name]?.(index) ?? `v${index}`;
    case 'boolean':
      return false;
    case 'int32':
    case 'int64':
    case 'double':
    case 'intOrString':
      return (index % 60_000) + 1;
    case 'quantity':
      return `${index}`;
    case 'bytes':
      return 'AAEC';
    case 'time':
      return '2026-01-01T00:00:00Z';
    case 'microTime':
      return '2026-01-01T00:00:00.000000Z';
    case 'json':
    case 'opaque':
      return {};
  }
}

const always = new Set(['name', 'key', 'type', 'ip', 'uid', 'port', 'path', 'protocol']);

/** The required fields of an item, and those that identify it. */
const neededFields = ({ fields }: StructSchema): [string, FieldMap[string]][] =>
  Object.entries(fields).filter(
    ([name, field]) => always.has(name) || field.presence === 'always' || field.required === true,
  );

const words: Readonly<Record<string, (index: number) => string>> = {
  name: (index) => `n${index}`,
  finalizers: (index) => `example.org/f${index}`,
  addresses: (index) => words['ip']?.(index) ?? '',
  externalIPs: (index) => words['ip']?.(index) ?? '',
  cidrs: (index) => `${words['ip']?.(index) ?? ''}/32`,
  podCIDRs: (index) => `${words['ip']?.(index) ?? ''}/32`,
  hostnames: (index) => `h${index}`,
  apiVersion: () => 'v1',
  kind: () => 'ConfigMap',
  ip: (index) => `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`,
  protocol: () => 'TCP',
  operator: () => 'Exists',
  effect: () => 'NoSchedule',
  path: (index) => `/p${index}`,
  pathType: () => 'Exact',
  mountPath: (index) => `/m${index}`,
  image: () => 'a',
  status: () => 'True',
  reason: () => 'Because',
  host: (index) => `h${index}.example.org`,
};

/** The object with a long field; lists on the path get the item that they need. */
export function withField(target: unknown, { path, items }: LongField, value: unknown): unknown {
  const filled = items.reduce(
    (object, [at, item]) => (valueAt(object, at) === undefined ? withValue(object, at, item) : object),
    target,
  );
  return withValue(filled, path, value);
}

const valueAt = (target: unknown, path: readonly Step[]): unknown =>
  path.reduce<unknown>(
    (value, step) => (typeof value === 'object' && value !== null ? (Reflect.get(value, step) as unknown) : undefined),
    target,
  );

/** The object with `value` at a path; missing parents are created. */
export function withValue(target: unknown, [step, ...rest]: readonly Step[], value: unknown): unknown {
  if (step === undefined) return value;
  if (step === 0) {
    const [first, ...others] = Array.isArray(target) ? (target as readonly unknown[]) : [];
    return [withValue(first ?? {}, rest, value), ...others];
  }
  const object = typeof target === 'object' && target !== null ? (target as Readonly<Record<string, unknown>>) : {};
  return { ...object, [step]: withValue(object[step], rest, value) };
}
