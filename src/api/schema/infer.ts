import type { Field, FieldMap, ListSchema, MapSchema, OpaqueSchema, ScalarSchema, StringSchema } from './schema.ts';

/** The TypeScript type of decoded values of a schema. All fields are read-only: copy an object to change it. */
export type Infer<S> = S extends { readonly type: 'struct'; readonly fields: infer Fields extends FieldMap }
  ? InferFields<Fields>
  : S extends ListSchema<infer Item>
    ? readonly Infer<Item>[]
    : S extends MapSchema<infer Value>
      ? { readonly [key: string]: Infer<Value> }
      : S extends StringSchema<infer Word>
        ? Word
        : S extends ScalarSchema<infer Type>
          ? ScalarTypes[Type]
          : S extends OpaqueSchema<infer Value>
            ? Value
            : never;

interface ScalarTypes {
  boolean: boolean;
  int32: number;
  int64: number;
  double: number;
  bytes: string;
  time: string;
  microTime: string;
  quantity: string | number;
  intOrString: number | string;
  json: unknown;
}

type OptionalKeys<Fields> = {
  [Key in keyof Fields]: Fields[Key] extends { readonly presence: 'always' } ? never : Key;
}[keyof Fields];

type InferFields<Fields> = {
  readonly [Key in Exclude<keyof Fields, OptionalKeys<Fields>>]: Fields[Key] extends Field<infer S>
    ? S extends ListSchema | MapSchema
      ? Infer<S> | null
      : Infer<S>
    : never;
} & {
  readonly [Key in OptionalKeys<Fields>]?: Fields[Key] extends Field<infer S> ? Infer<S> : never;
};
