// A custom kind with every way in which a structural schema treats a field, and definitions of any size.

import { customResourceDefinitionKind } from '../../../src/api/kinds/apiextensions/customresourcedefinition/kind.ts';
import type { CustomResourceDefinition } from '../../../src/api/kinds/apiextensions/customresourcedefinition/schema.ts';
import { servedKinds } from '../../../src/api/kinds/apiextensions/customresourcedefinition/served-kinds.ts';
import { decode } from '../../../src/api/schema/decode.ts';
import type { LongField } from './fields.ts';
import { longFields } from './fields.ts';

type Json = Readonly<Record<string, unknown>>;

const text = { type: 'string' };
const any = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const objectOf = (properties: Json, more: Json = {}): Json => ({ type: 'object', properties, ...more });
const listOf = (items: Json, more: Json = {}): Json => ({ type: 'array', items, ...more });
const listMapOf = (keys: readonly string[], properties: Json, more: Json = {}): Json =>
  listOf(objectOf(properties, { required: keys }), {
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': keys,
    ...more,
  });
const ruled = (schema: Json, rules: readonly string[]): Json => ({
  ...schema,
  'x-kubernetes-validations': rules.map((rule) => ({ rule })),
});
/** Limits without which a rule in a loop is rejected as too expensive. */
const [fewItems, fewKeys, shortText] = [{ maxItems: 5000 }, { maxProperties: 5000 }, { type: 'string', maxLength: 64 }];

/** A schema that contains itself `depth` times. */
export function nested(depth: number): Json {
  let schema: Json = objectOf({ value: text });
  for (let level = 1; level < depth; level++) schema = objectOf({ value: text, child: schema, items: listOf(text) });
  return schema;
}

const spec = objectOf({
  text,
  pattern: { type: 'string', pattern: '^(a|b|[0-9])*$' },
  bytes: { type: 'string', format: 'byte' },
  number: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
  list: listOf(text),
  objects: listOf(objectOf({ name: text, value: text })),
  set: listOf(text, { 'x-kubernetes-list-type': 'set' }),
  ports: listMapOf(['port', 'protocol'], {
    port: { type: 'integer' },
    protocol: { type: 'string', default: 'TCP' },
    hosts: listMapOf(['name'], { name: text, value: text }),
  }),
  map: { type: 'object', additionalProperties: text },
  atomic: { type: 'object', additionalProperties: text, 'x-kubernetes-map-type': 'atomic' },
  objectMap: { type: 'object', additionalProperties: objectOf({ value: text }) },
  any,
  embedded: { ...any, 'x-kubernetes-embedded-resource': true },
  tree: nested(4),
  choices: listOf(objectOf({ name: text, value: text }, { anyOf: [{ required: ['name'] }, { required: ['value'] }] })),
  ruledText: ruled({ type: 'string', maxLength: 5000 }, ['!self.contains("x")', 'self.size() < 5000']),
  ruledList: ruled(listOf(shortText, fewItems), ['self.all(item, item.size() < 64)', '!self.exists(i, i == "x")']),
  ruledItems: listOf(ruled(objectOf({ name: shortText }), ['self.name != "x"']), fewItems),
  ruledSet: ruled(listOf(shortText, { ...fewItems, 'x-kubernetes-list-type': 'set' }), ['self == oldSelf || true']),
  ruledPorts: ruled(
    listMapOf(
      ['name'],
      { name: shortText, value: ruled(shortText, ['self == oldSelf || self.size() < 64']) },
      fewItems,
    ),
    ['self.map(item, item.name).filter(name, name != "x").size() <= 5000'],
  ),
  ruledMap: ruled({ type: 'object', additionalProperties: shortText, ...fewKeys }, [
    'self.all(key, key.size() < 64 && self[key] != "x")',
  ]),
});

/** The definition of a custom kind; `schema` is that of its `spec`. */
const definitionOf = (schema: Json, more: Json = {}): Json & { readonly metadata: { readonly name: string } } => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'longs.hostile.example.org' },
  spec: {
    group: 'hostile.example.org',
    scope: 'Namespaced',
    names: { plural: 'longs', kind: 'Long', ...(more['names'] as Json | undefined) },
    versions: (more['versions'] as readonly Json[] | undefined) ?? [versionOf('v1', objectOf({ spec: schema }))],
  },
});

const versionOf = (name: string, schema: Json, more: Json = {}): Json => ({
  name,
  served: true,
  storage: name === 'v1',
  schema: { openAPIV3Schema: schema },
  subresources: { status: {} },
  ...more,
});

/** The definition of `longs.hostile.example.org`, whose fields can be long. */
export const definition = definitionOf(spec);

/** The long fields of the custom kind. */
export function customFields(): LongField[] {
  const { object } = decode<CustomResourceDefinition>(customResourceDefinitionKind.schema, definition);
  const { names } = object.spec;
  const acceptedNames = { ...names, singular: 'long', listKind: 'LongList' };
  const [kind] = servedKinds({ ...object, status: { ...object.status, acceptedNames } });
  if (kind === undefined) throw new Error('bug: the definition has no version');
  return longFields(kind)
    .filter(({ path: [root] }) => root === 'spec')
    .map((field) => ({ ...field, definition, treatment: `custom ${field.treatment}` }));
}

const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const propertiesOf = (count: number, make: (index: number) => Json): Json =>
  objectOf(Object.fromEntries(many(count, (index) => [`field${index}`, make(index)])));

/** Definitions of any size; each part of a schema that can be repeated is repeated in one of them. */
export const longDefinitions: Readonly<Record<string, (count: number) => object>> = {
  properties: (count) => definitionOf(propertiesOf(count, () => text)),
  'properties with rules': (count) => definitionOf(propertiesOf(count, () => ruled(shortText, ['self != "x"']))),
  'rules of one value': (count) =>
    definitionOf(
      ruled(
        shortText,
        many(count, (index) => `self != "${index}"`),
      ),
    ),
  'a rule with many operators': (count) =>
    definitionOf(ruled(shortText, [many(count, (index) => `self != "${index}"`).join(' && ')])),
  'a rule with a long list': (count) =>
    definitionOf(ruled(shortText, [`!(self in [${many(count, (index) => `"${index}"`).join(',')}])`])),
  levels: (count) => definitionOf(nested(count / 16)),
  'levels with rules': (count) => {
    let schema: Json = shortText;
    for (let level = 0; level < count / 16; level++) schema = ruled(objectOf({ child: schema }), ['has(self.child)']);
    return definitionOf(schema);
  },
  'enumerated words': (count) => definitionOf({ ...text, enum: many(count, (index) => `word-${index}`) }),
  alternatives: (count) => definitionOf({ type: 'string', anyOf: many(count, (index) => ({ pattern: `^${index}$` })) }),
  defaults: (count) => definitionOf(propertiesOf(count, (index) => ({ ...text, default: `value-${index}` }))),
  'required fields': (count) =>
    definitionOf({ ...propertiesOf(count, () => text), required: many(count, (index) => `field${index}`) }),
  'keys of a list': (count) => {
    const properties = many(count, (index) => [`field${index}`, text] as const);
    return definitionOf(
      objectOf({
        list: listMapOf(
          properties.map(([name]) => name),
          Object.fromEntries(properties),
        ),
      }),
    );
  },
  'unknown keys of a list': (count) =>
    definitionOf(
      objectOf({
        list: listMapOf(
          many(count, (index) => `key${index}`),
          {},
        ),
      }),
    ),
  'repeated keys of a list': (count) =>
    definitionOf(
      objectOf({
        list: listMapOf(
          many(count, () => 'key'),
          { key: text },
        ),
      }),
    ),
  'fields without a type': (count) => definitionOf(propertiesOf(count, () => ({}))),
  'invalid rules': (count) =>
    definitionOf(
      ruled(
        shortText,
        many(count, (index) => `self.x${index}`),
      ),
    ),
  versions: (count) =>
    definitionOf({}, { versions: many(count, (index) => versionOf(`v${index + 1}`, objectOf({ spec: text }))) }),
  'versions that differ': (count) => {
    const versions = many(count, (index) =>
      versionOf(`v${index + 1}`, objectOf({ spec: { ...text, maxLength: index } })),
    );
    return definitionOf({}, { versions });
  },
  columns: (count) => {
    const additionalPrinterColumns = many(count, (index) => ({
      name: `column${index}`,
      type: 'string',
      jsonPath: `.spec.field${index}`,
    }));
    return definitionOf({}, { versions: [versionOf('v1', objectOf({ spec: any }), { additionalPrinterColumns })] });
  },
  'short names': (count) => definitionOf(any, { names: { shortNames: many(count, (index) => `short${index}`) } }),
};
