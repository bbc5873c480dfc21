// The schema language: a kind is written once with these constructors, and everything else derives from the result:
// TypeScript types (infer.ts), decoding and strict checks (decode.ts), OpenAPI, protobuf, tables, patches and apply.

/** A leaf: a JSON scalar, or a value that merges and is owned as one (`json` is any value, kept as sent). */
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

/** A string, or with `enum` one of a set of words. Decoding accepts any string: validation names the bad word. */
export interface StringSchema<Word extends string = string> {
  readonly type: 'string';
  readonly enum?: readonly Word[];
}

/** How a list merges: server-side apply goes by `listType` and `keys`, strategic merge patch by `patch`. */
export interface ListSchema<Item extends Schema = Schema> {
  readonly type: 'list';
  readonly items: Item;
  readonly listType: 'atomic' | 'set' | 'map';
  /** The fields that name an item of a `map` list. */
  readonly keys: readonly string[];
  /** Absent: a patch replaces the list. `key` is absent for lists of scalars. */
  readonly patch?: { readonly key?: string; readonly retainKeys?: true };
}

/** A map with free string keys; `atomic` maps are applied and owned whole. */
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
  /** Keeps fields that are not declared, for kinds we do not interpret deeply. */
  readonly open: boolean;
  /** Strategic merge patch: a sent union keeps only the keys the patch lists (`$retainKeys`). */
  readonly retainKeys: boolean;
}

export type Schema = ScalarSchema | StringSchema | ListSchema | MapSchema | StructSchema;
export type FieldMap = Readonly<Record<string, Field>>;

/**
 * What becomes of a zero value, as in Kubernetes' Go types:
 * `optional` drops it (a value with omitempty), `pointer` keeps what was sent, `always` writes it even when nothing
 * was sent (`""`, `0`, `false`, `{}`; `null` for lists and maps).
 */
export type Presence = 'optional' | 'pointer' | 'always';

export interface Field<S extends Schema = Schema, P extends Presence = Presence> {
  /** Protobuf field number; 0 where the field has none. */
  readonly number: number;
  readonly schema: S;
  readonly presence: P;
  readonly description: string;
  /** Published in OpenAPI and used to complete list-map keys; defaulting itself is the kind's own function. */
  readonly default?: unknown;
  /** OpenAPI marks the field as required; independent of presence. */
  readonly required?: true;
  /**
   * JSON has this field inline where protobuf keeps it in a message of its own: the number of that message's field.
   * `number` is then the field's own inside that message. IngressRule.http is `number: 1, inline: 2`.
   */
  readonly inline?: number;
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

/** A string that is one of `words`. */
export const oneOf = <const Word extends string>(...words: readonly Word[]): StringSchema<Word> => ({
  type: 'string',
  enum: words,
});

/** A list replaced as a whole by every kind of patch and by apply. */
export const list = <Item extends Schema>(items: Item): ListSchema<Item> => ({
  type: 'list',
  items,
  listType: 'atomic',
  keys: [],
});

/** A list of distinct scalars; strategic merge adds to it when `patch` is 'merge'. */
export const setOf = <Item extends Schema>(items: Item, patch?: 'merge'): ListSchema<Item> => ({
  type: 'list',
  items,
  listType: 'set',
  keys: [],
  ...(patch ? { patch: {} } : {}),
});

/** A list whose items are named by `keys` (apply) and merged by `mergeKey` (strategic merge patch). */
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

/** A list that strategic merge patch merges by `mergeKey`, and apply replaces whole. */
export const mergeList = <Item extends Schema>(items: Item, mergeKey?: string): ListSchema<Item> => ({
  ...list(items),
  patch: mergeKey === undefined ? {} : { key: mergeKey },
});

/** A map from free keys to `values`, merged key by key. */
export const map = <Value extends Schema>(values: Value): MapSchema<Value> => ({ type: 'map', values, atomic: false });

/** A map that apply owns and replaces whole. */
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
  readonly inline?: number;
}

/** A field whose zero value means the same as its absence. */
export const optional = <S extends Schema>(
  number: number,
  schema: S,
  description: string,
  options: FieldOptions = {},
): Field<S, 'optional'> => ({ number, schema, presence: 'optional', description, ...options });

/** A field whose zero value differs from its absence. */
export const pointer = <S extends Schema>(
  number: number,
  schema: S,
  description: string,
  options: FieldOptions = {},
): Field<S, 'pointer'> => ({ number, schema, presence: 'pointer', description, ...options });

/** A field that is written even when it was not sent. */
export const always = <S extends Schema>(
  number: number,
  schema: S,
  description: string,
  options: FieldOptions = {},
): Field<S, 'always'> => ({ number, schema, presence: 'always', description, ...options });

/** The same struct as an atomic one, for fields that apply owns whole. */
export const atomic = <Fields extends FieldMap>(schema: StructSchema<Fields>): StructSchema<Fields> => ({
  ...schema,
  atomic: true,
});
