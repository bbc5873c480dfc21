import fc from 'fast-check';

import type { Field, Schema, StructSchema } from '../schema.ts';

const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
// Later than the epoch, which protobuf does not distinguish from an unset time.
const seconds = fc.date({
  min: new Date('1971-01-01T00:00:00Z'),
  max: new Date('2099-12-31T00:00:00Z'),
  noInvalidDate: true,
});
const time = seconds.map((date) => `${date.toISOString().slice(0, 19)}Z`);
const microTime = fc
  .tuple(seconds, fc.integer({ min: 0, max: 999_999 }))
  .map(([date, micros]) => `${date.toISOString().slice(0, 19)}.${String(micros).padStart(6, '0')}Z`);
const key = fc.stringMatching(/^[a-z][a-z0-9./-]{0,12}$/);
const json = fc.dictionary(key, fc.oneof(fc.string(), fc.integer(), fc.constant({})), {
  maxKeys: 3,
  noNullPrototype: true,
});

const scalars: Readonly<Record<Exclude<Schema['type'], 'list' | 'map' | 'struct' | 'opaque'>, fc.Arbitrary<unknown>>> =
  {
    string: fc.string({ unit: 'binary', maxLength: 20 }),
    boolean: fc.boolean(),
    int32,
    int64: fc.maxSafeInteger(),
    double: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
    bytes: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('base64')),
    time,
    microTime,
    quantity: fc.constantFrom('0', '1', '100m', '1.5', '1Gi', '2e3', '-5M'),
    intOrString: fc.oneof(int32, fc.string({ maxLength: 10 })),
    json,
  };

/** Values that `schema` accepts, as clients send them: fields may be missing or zero. */
function arbitraryOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.type === 'struct') return arbitraryStruct(schema);
  if (schema.type === 'list') return fc.array(arbitraryOf(schema.items), { maxLength: 3 });
  if (schema.type === 'map')
    return fc.dictionary(key, arbitraryOf(schema.values), { maxKeys: 3, noNullPrototype: true });
  if (schema.type === 'opaque') return fc.constant({});
  if (schema.type === 'string' && schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  return scalars[schema.type];
}

/** Objects that `schema` accepts. */
export function arbitraryStruct(schema: StructSchema): fc.Arbitrary<Record<string, unknown>> {
  const fields = Object.entries(schema.fields).map(([name, field]): [string, fc.Arbitrary<unknown>] => [
    name,
    arbitraryField(field),
  ]);
  return fc.record(Object.fromEntries(fields), { requiredKeys: [], noNullPrototype: true });
}

const arbitraryField = ({ schema, presence }: Field): fc.Arbitrary<unknown> =>
  fc.option(arbitraryOf(schema), { freq: presence === 'always' ? 20 : 5, nil: null });
