// CustomResourceDefinitions and objects whose replies are compared with those of kube-apiserver.

type Json = Readonly<Record<string, unknown>>;

const version = (schema: Json, more: Json = {}): Json => ({
  name: 'v1',
  served: true,
  storage: true,
  schema: { openAPIV3Schema: schema },
  ...more,
});

/** A definition of the group `compare.example.org`. */
export const definitionOf = (plural: string, versions: readonly Json[], spec: Json = {}): Json => {
  const kind = plural.charAt(0).toUpperCase() + plural.slice(1, -1);
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.compare.example.org` },
    spec: { group: 'compare.example.org', scope: 'Namespaced', names: { plural, kind }, versions, ...spec },
  };
};

const spec = (properties: Json, more: Json = {}): Json => ({
  type: 'object',
  properties: { spec: { type: 'object', properties, ...more } },
});

const broken = (name: string, schema: Json, more: Json = {}, crd: Json = {}): readonly [string, Json] => [
  name,
  definitionOf('brokens', [version(schema, more)], crd),
];

const rule = (text: string, more: Json = {}): Json => ({ 'x-kubernetes-validations': [{ rule: text, ...more }] });

/** Definitions that a server rejects. */
export const brokenDefinitions: readonly (readonly [name: string, definition: Json])[] = [
  broken('no type', spec({ a: {} })),
  broken('no type at the root', { properties: {} }),
  broken('no items', spec({ a: { type: 'array' } })),
  broken('a root that is a string', { type: 'string' }),
  broken(
    'properties and additionalProperties',
    spec({ a: { type: 'object', properties: { b: { type: 'string' } }, additionalProperties: { type: 'string' } } }),
  ),
  broken('a type in anyOf', spec({ a: { type: 'string', anyOf: [{ type: 'string' }] } })),
  broken(
    'an undeclared property in allOf',
    spec({ a: { type: 'object', allOf: [{ properties: { b: { minimum: 1 } } }] } }),
  ),
  broken('restricted metadata', {
    type: 'object',
    properties: { metadata: { type: 'object', properties: { labels: { type: 'object' } } } },
  }),
  broken('an invalid pattern', spec({ a: { type: 'string', pattern: '(' } })),
  broken('a pattern with look-ahead', spec({ a: { type: 'string', pattern: '(?=a)' } })),
  broken('uniqueItems', spec({ a: { type: 'array', uniqueItems: true, items: { type: 'string' } } })),
  broken('a default of the wrong type', spec({ a: { type: 'integer', default: 'x' } })),
  broken(
    'a default with unknown fields',
    spec({ a: { type: 'object', properties: { b: { type: 'string' } }, default: { c: 1 } } }),
  ),
  broken(
    'a list map without keys',
    spec({ a: { type: 'array', 'x-kubernetes-list-type': 'map', items: { type: 'object', properties: {} } } }),
  ),
  broken(
    'a list map with an optional key',
    spec({
      a: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
        items: { type: 'object', properties: { k: { type: 'string' } } },
      },
    }),
  ),
  broken(
    'a list map with an unknown key',
    spec({
      a: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['x'],
        items: { type: 'object', properties: { k: { type: 'string' } } },
      },
    }),
  ),
  broken(
    'a set of granular objects',
    spec({ a: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'object', properties: {} } } }),
  ),
  broken(
    'an unknown list type',
    spec({ a: { type: 'array', 'x-kubernetes-list-type': 'bag', items: { type: 'string' } } }),
  ),
  broken('a list type of a string', spec({ a: { type: 'string', 'x-kubernetes-list-type': 'set' } })),
  broken('an unknown map type', spec({ a: { type: 'object', 'x-kubernetes-map-type': 'x' } })),
  broken('an unknown type', spec({ a: { type: 'strange' } })),
  broken('a reference', spec({ a: { type: 'string', $ref: '#/x' } })),
  broken(
    'an embedded resource without properties',
    spec({ a: { type: 'object', 'x-kubernetes-embedded-resource': true } }),
  ),
  broken(
    'preserve-unknown-fields false',
    spec({ a: { type: 'object', 'x-kubernetes-preserve-unknown-fields': false } }),
  ),
  broken('nullable at the root', { type: 'object', nullable: true }),
  broken('a bad column', spec({}), { additionalPrinterColumns: [{ name: 'x', type: 'strange', jsonPath: 'x' }] }),
  broken('a bad scale', spec({}), { subresources: { scale: { specReplicasPath: '.x', statusReplicasPath: 'y' } } }),
  broken('a selectable object', spec({ a: { type: 'object', properties: {} } }), {
    selectableFields: [{ jsonPath: '.spec.a' }, { jsonPath: '.spec.none' }],
  }),
  broken('a warning of a version that is not deprecated', spec({}), { deprecationWarning: 'x' }),
  broken(
    'names',
    spec({}),
    {},
    { names: { plural: 'Brokens', kind: 'broken kind', shortNames: ['A'], listKind: 'x' } },
  ),
  broken('no storage version', spec({}), { storage: false }),
  broken('a group without a dot', spec({}), {}, { group: 'compare' }),
  broken('an unknown scope', spec({}), {}, { scope: 'World' }),
  broken('an unknown strategy', spec({}), {}, { conversion: { strategy: 'Magic' } }),
  broken('an empty rule', spec({ a: { type: 'string', ...rule(' ') } })),
  broken('a rule with lines and no message', spec({ a: { type: 'string', ...rule('self ==\n"a"') } })),
  broken('an unknown reason', spec({ a: { type: 'string', ...rule('true', { reason: 'X' }) } })),
  broken(
    'a field path to nowhere',
    spec({ a: { type: 'object', properties: {}, ...rule('true', { fieldPath: '.x' }) } }),
  ),
  broken('a rule that is not a condition', spec({ a: { type: 'string', ...rule('size(self)') } })),
  broken('a message that is not a text', spec({ a: { type: 'string', ...rule('true', { messageExpression: '1' }) } })),
  broken(
    'oldSelf in an item of a list',
    spec({ a: { type: 'array', maxItems: 5, items: { type: 'string', maxLength: 5, ...rule('self == oldSelf') } } }),
  ),
  broken(
    'optionalOldSelf without oldSelf',
    spec({ a: { type: 'string', ...rule('true', { optionalOldSelf: true }) } }),
  ),
];

/** A kind with most features. */
export const widgets = definitionOf('widgets', [
  version(
    {
      type: 'object',
      required: ['spec'],
      properties: {
        spec: {
          type: 'object',
          required: ['size'],
          'x-kubernetes-validations': [
            { rule: '!has(self.min) || !has(self.max) || self.min <= self.max', message: 'min is greater than max' },
            {
              rule: '!has(self.name) || self.name.startsWith("w")',
              messageExpression: '"bad name: " + self.name',
              fieldPath: '.name',
              reason: 'FieldValueForbidden',
            },
          ],
          properties: {
            size: { type: 'integer', minimum: 1, maximum: 10, multipleOf: 1 },
            min: { type: 'integer' },
            max: { type: 'integer' },
            name: { type: 'string', minLength: 2, maxLength: 8, pattern: '^[a-z]+$' },
            color: { type: 'string', enum: ['red', 'green'], default: 'red' },
            ratio: { type: 'number', exclusiveMinimum: true, minimum: 0 },
            on: { type: 'boolean' },
            port: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
            when: { type: 'string', format: 'date-time' },
            address: { type: 'string', format: 'ipv4' },
            list: { type: 'array', minItems: 1, maxItems: 2, items: { type: 'string' } },
            set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
            keyed: {
              type: 'array',
              'x-kubernetes-list-type': 'map',
              'x-kubernetes-list-map-keys': ['k'],
              items: { type: 'object', required: ['k'], properties: { k: { type: 'string' }, v: { type: 'integer' } } },
            },
            map: { type: 'object', maxProperties: 1, additionalProperties: { type: 'integer' } },
            any: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            nothing: { type: 'string', nullable: true },
            one: {
              type: 'object',
              properties: { a: { type: 'string' }, b: { type: 'string' } },
              oneOf: [{ required: ['a'] }, { required: ['b'] }],
            },
            not: { type: 'string', not: { enum: ['no'] } },
            resource: {
              type: 'object',
              'x-kubernetes-embedded-resource': true,
              'x-kubernetes-preserve-unknown-fields': true,
            },
          },
        },
        status: { type: 'object', properties: { replicas: { type: 'integer' } } },
      },
    },
    { subresources: { status: {} } },
  ),
]);

const widget = (given: unknown): Json => ({
  apiVersion: 'compare.example.org/v1',
  kind: 'Widget',
  metadata: { name: 'a' },
  ...(given === undefined ? {} : { spec: given }),
});

/** Objects of that kind; valid ones are compared as they are stored. */
export const objects: readonly (readonly [name: string, object: Json])[] = [
  [
    'valid',
    widget({ size: 1, name: 'web', port: 80, list: ['a'], map: { a: 1 }, any: { x: { y: [1] } }, nothing: null }),
  ],
  ['unknown fields', widget({ size: 1, other: { a: 1 }, keyed: [{ k: 'a', z: 1 }] })],
  ['a null that is not allowed', widget({ size: 1, name: null, color: null })],
  [
    'an embedded resource',
    widget({
      size: 1,
      resource: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x', labels: { a: 'b' }, foo: 1 }, spec: { a: 1 } },
    }),
  ],
  ['no spec', widget(undefined)],
  ['a required field', widget({})],
  ['a spec that is a list', widget([])],
  ['a text for a number', widget({ size: 'x' })],
  ['a fraction for an integer', widget({ size: 1.5 })],
  ['a number for a text', widget({ size: 1, name: 5 })],
  ['a number that is too large', widget({ size: 11 })],
  ['a number that is too small', widget({ size: 0, ratio: 0 })],
  ['a text that is too short', widget({ size: 1, name: 'w' })],
  ['a text that is too long', widget({ size: 1, name: 'wwwwwwwwww' })],
  ['a text that does not match', widget({ size: 1, name: 'W1' })],
  ['a word that is not in the list', widget({ size: 1, color: 'blue' })],
  ['a text for a boolean', widget({ size: 1, on: 'true' })],
  ['a boolean for an int-or-string', widget({ size: 1, port: true })],
  ['a time', widget({ size: 1, when: 'yesterday' })],
  ['an address', widget({ size: 1, address: '1.2.3' })],
  ['a list that is too short', widget({ size: 1, list: [] })],
  ['a list that is too long', widget({ size: 1, list: ['a', 'b', 'c'] })],
  ['a wrong item', widget({ size: 1, list: [1] })],
  ['a repeated item', widget({ size: 1, set: ['a', 'b', 'a'] })],
  ['a repeated key', widget({ size: 1, keyed: [{ k: 'a' }, { k: 'a' }] })],
  ['a map that is too large', widget({ size: 1, map: { a: 1, b: 2 } })],
  ['a wrong value of a map', widget({ size: 1, map: { a: 'x' } })],
  ['none of the alternatives', widget({ size: 1, one: {} })],
  ['both alternatives', widget({ size: 1, one: { a: 'x', b: 'y' } })],
  ['a forbidden value', widget({ size: 1, not: 'no' })],
  ['an embedded resource without a type', widget({ size: 1, resource: { spec: {} } })],
  [
    'an embedded resource with bad metadata',
    widget({ size: 1, resource: { apiVersion: 'a/b/c', kind: 'X Y', metadata: { labels: { a: 'b c' } } } }),
  ],
  ['a rule with a message', widget({ size: 1, min: 2, max: 1 })],
  ['a rule with an expression', widget({ size: 1, name: 'xx' })],
  ['errors of a schema and of rules', widget({ size: 99, min: 2, max: 1 })],
];
