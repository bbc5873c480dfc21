// The schema language: the fields of a kind are declared once with these constructors, and everything else derives from it:
// TypeScript types (infer.ts), decoding and strict checks (decode.ts), OpenAPI, protobuf, tables, patches and apply.

import type { WireReader, WireWriter } from './wire.ts';

/** A leaf: a JSON scalar, or a value that patches and apply treat as one (`json` is any value, kept as sent). */
export interface ScalarSchema<Type extends ScalarType = ScalarType> {
  readonly type: Type;
}
export type ScalarType =
  | 'boolean'
  | 'int32'
  | 'int64'
  | 'double'
  | 'bytes' // base64 text in JSON
  | 'time' // RFC 3339, whole seconds
  | 'microTime' // RFC 3339, always six digits
  | 'quantity'
  | 'intOrString'
  | 'json';

/** A string; with `enum` one of a set. Decoding accepts any string: validation rejects other values. */
export interface StringSchema<Word extends string = string> {
  readonly type: 'string';
  readonly enum?: readonly Word[];
}

/** How a list merges: server-side apply goes by `listType` and `keys`, strategic merge patch by `patch`. */
export interface ListSchema<Item extends Schema = Schema> {
  readonly type: 'list';
  readonly items: Item;
  readonly listType: 'atomic' | 'set' | 'map';
  /** The fields that identify an item of a `map` list. */
  readonly keys: readonly string[];
  /** Absent: a patch replaces the list. `key` is absent for lists of scalars. */
  readonly patch?: { readonly key?: string; readonly retainKeys?: true };
}

/** A map with arbitrary string keys; apply replaces and owns `atomic` maps as a whole. */
export interface MapSchema<Value extends Schema = Schema> {
  readonly type: 'map';
  readonly values: Value;
  readonly atomic: boolean;
}

/** An object with declared fields; `name` is its OpenAPI definition, e.g. `io.k8s.api.core.v1.ServicePort`. */
export interface StructSchema<Fields extends FieldMap = FieldMap> {
  readonly type: 'struct';
  readonly name: string;
  readonly description: string;
  readonly fields: Fields;
  readonly atomic: boolean;
  /** Keeps undeclared fields, for kinds whose content this project does not interpret. */
  readonly open: boolean;
  /** Strategic merge patch: a union keeps only the keys that `$retainKeys` of the patch lists. */
  readonly retainKeys: boolean;
  /** Strategic merge patch replaces the struct instead of merging it. */
  readonly isReplaced?: true;
  /** Further keys of its OpenAPI definition. */
  readonly published?: OpaqueSchema['published'];
}

/** A value that the language cannot describe: it reads and publishes itself. */
export interface OpaqueSchema<Value = unknown> {
  readonly type: 'opaque';
  /** The type as Go's errors print it. */
  readonly goType: string;
  /** Null is a value of its own, and not the absence of one. */
  readonly isNullable: boolean;
  /**
   * Returns the value without undeclared fields, which are reported to `dropped` by their path below the value. Throws a
   * `Mismatch` for a wrong type.
   */
  read(value: unknown, dropped: (path: readonly (string | number)[]) => void): Value;
  /** The granularity of server-side apply. */
  readonly merged: Schema;
  /** The schema in OpenAPI documents. */
  published(dialect: 'v2' | 'v3'): Readonly<Record<string, unknown>>;
  /** The protobuf encoding; absent for custom resources, which have none. */
  readonly wire?: WireForm;
}

/** The protobuf message of an opaque value. */
export interface WireForm {
  read(reader: WireReader): unknown;
  write(writer: WireWriter, value: unknown): void;
}

export type Schema = ScalarSchema | StringSchema | ListSchema | MapSchema | StructSchema | OpaqueSchema;
export type FieldMap = Readonly<Record<string, Field>>;

/**
 * How zero values are encoded, as in Kubernetes' Go types. `optional` omits them (a value with omitempty). `pointer` keeps
 * them if they were sent. `always` writes them even if the field was not sent: `""`, `0`, `false`, `{}`, and `null` for
 * lists and maps.
 */
export type Presence = 'optional' | 'pointer' | 'always';

export interface Field<S extends Schema = Schema, P extends Presence = Presence> {
  /** Protobuf field number; 0 where the field has none. */
  readonly number: number;
  readonly schema: S;
  readonly presence: P;
  readonly description: string;
  /** Published in OpenAPI and used to complete list-map keys; the kind's `applyDefaults` does the defaulting. */
  readonly default?: unknown;
  /** OpenAPI marks the field as required; independent of presence. */
  readonly required?: true;
  /**
   * For a field that is inline in JSON but inside a message of its own in protobuf: the field number of that message.
   * `number` is then the number of the field inside the message. IngressRule.http is `number: 1, inline: 2`. Several
   * numbers lead through messages inside each other.
   */
  readonly inline?: number | readonly number[];
}

const scalar = <Type extends ScalarType>(type: Type): ScalarSchema<Type> => ({ type });

export const boolean: ScalarSchema<'boolean'> = scalar('boolean');
export const int32: ScalarSchema<'int32'> = scalar('int32');
export const int64: ScalarSchema<'int64'> = scalar('int64');
export const double: ScalarSchema<'double'> = scalar('double');
export const bytes: ScalarSchema<'bytes'> = scalar('bytes');
export const time: ScalarSchema<'time'> = scalar('time');
export const microTime: ScalarSchema<'microTime'> = scalar('microTime');
export const quantity: ScalarSchema<'quantity'> = scalar('quantity');
export const intOrString: ScalarSchema<'intOrString'> = scalar('intOrString');
export const json: ScalarSchema<'json'> = scalar('json');
export const string: StringSchema = { type: 'string' };

/** A string that must be one of `words`. */
export const oneOf = <const Word extends string>(...words: readonly Word[]): StringSchema<Word> => ({
  type: 'string',
  enum: words,
});

/** A list that every kind of patch and apply replace as a whole. */
export const list = <Item extends Schema>(items: Item): ListSchema<Item> => ({
  type: 'list',
  items,
  listType: 'atomic',
  keys: [],
});

/** A list of distinct scalars; strategic merge patch adds items if `patch` is 'merge'. */
export const setOf = <Item extends Schema>(items: Item, patch?: 'merge'): ListSchema<Item> => ({
  type: 'list',
  items,
  listType: 'set',
  keys: [],
  ...(patch ? { patch: {} } : {}),
});

/** A list whose items are identified by `keys` (apply) and by `mergeKey` (strategic merge patch). */
export const listMap = <Item extends Schema>(
  items: Item,
  keys: readonly string[],
  patch?: { readonly mergeKey: string; readonly retainKeys?: true },
): ListSchema<Item> => ({
  type: 'list',
  items,
  listType: 'map',
  keys,
  ...(patch ? { patch: { key: patch.mergeKey, ...(patch.retainKeys ? { retainKeys: true as const } : {}) } } : {}),
});

/** A list that strategic merge patch merges by `mergeKey`, and that apply replaces as a whole. */
export const mergeList = <Item extends Schema>(items: Item, mergeKey?: string): ListSchema<Item> => ({
  ...list(items),
  patch: mergeKey === undefined ? {} : { key: mergeKey },
});

/** A map with arbitrary keys, merged key by key. */
export const map = <Value extends Schema>(values: Value): MapSchema<Value> => ({ type: 'map', values, atomic: false });

/** A map that apply replaces and owns as a whole. */
export const atomicMap = <Value extends Schema>(values: Value): MapSchema<Value> => ({
  type: 'map',
  values,
  atomic: true,
});

export interface StructOptions {
  readonly atomic?: boolean;
  readonly open?: boolean;
  readonly retainKeys?: boolean;
}

/** An object with the given fields. */
export const struct = <const Fields extends FieldMap>(
  name: string,
  description: string,
  fields: Fields,
  options: StructOptions = {},
): StructSchema<Fields> => ({
  type: 'struct',
  name,
  description,
  fields,
  atomic: options.atomic ?? false,
  open: options.open ?? false,
  retainKeys: options.retainKeys ?? false,
});

export interface FieldOptions {
  readonly default?: unknown;
  readonly required?: true;
  readonly inline?: number | readonly number[];
}

/** A field without a difference between its zero value and its absence. */
export const optional = <S extends Schema>(
  number: number,
  schema: S,
  description: string,
  options: FieldOptions = {},
): Field<S, 'optional'> => ({ number, schema, presence: 'optional', description, ...options });

/** A field whose zero value has a meaning of its own. */
export const pointer = <S extends Schema>(
  number: number,
  schema: S,
  description: string,
  options: FieldOptions = {},
): Field<S, 'pointer'> => ({ number, schema, presence: 'pointer', description, ...options });

/** A field that is written even if it was not sent. */
export const always = <S extends Schema>(
  number: number,
  schema: S,
  description: string,
  options: FieldOptions = {},
): Field<S, 'always'> => ({ number, schema, presence: 'always', description, ...options });

/** The same struct, replaced and owned by apply as a whole. */
export const atomic = <Fields extends FieldMap>(schema: StructSchema<Fields>): StructSchema<Fields> => ({
  ...schema,
  atomic: true,
});

/** The same struct, replaced by strategic merge patch as a whole. */
export const replaced = <Fields extends FieldMap>(schema: StructSchema<Fields>): StructSchema<Fields> => ({
  ...schema,
  isReplaced: true,
});
