import assert from 'node:assert/strict';
import { test } from 'node:test';

import { dump } from 'js-yaml';
import fc from 'fast-check';

import { parseYaml, YamlError } from './yaml.ts';

const documents: readonly { readonly text: string; readonly want: unknown; readonly duplicates?: readonly string[] }[] =
  [
    { text: 'a: yes\nb: Off\nc: "yes"\nd: true', want: { a: true, b: false, c: 'yes', d: true } },
    { text: 'a: 0644\nb: 0x1f\nc: 1_000\nd: 08\ne: -5\nf: 0o17', want: { a: 420, b: 31, c: 1000, d: 8, e: -5, f: 15 } },
    { text: 'a: 1.5\nb: 1e3\nc: .5', want: { a: 1.5, b: 1000, c: 0.5 } },
    { text: 'a: 12:30\nb: 10.0.0.1\nc: 1.2.3', want: { a: '12:30', b: '10.0.0.1', c: '1.2.3' } },
    { text: 'a: 2024-01-01\nb: 2024-01-01T00:00:00Z', want: { a: '2024-01-01', b: '2024-01-01T00:00:00Z' } },
    { text: 'a: ~\nb:\nc: null', want: { a: null, b: null, c: null } },
    { text: 'y: 1\n"n": 2', want: { true: 1, n: 2 } },
    { text: '1: a\ntrue: b\n1.5: c', want: { 1: 'a', true: 'b', 1.5: 'c' } },
    { text: 'x: &x {a: 1, b: 2}\nz:\n  <<: *x\n  b: 3', want: { x: { a: 1, b: 2 }, z: { a: 1, b: 3 } } },
    { text: 'x: &x {a: 1}\nz:\n  a: 2\n  <<: *x', want: { x: { a: 1 }, z: { a: 2 } } },
    { text: 'x: &x [1]\nz: *x', want: { x: [1], z: [1] } },
    {
      text: 'spec:\n  ports:\n  - name: a\n    name: b',
      want: { spec: { ports: [{ name: 'b' }] } },
      duplicates: ['spec.ports[0].name'],
    },
    { text: 'a: 1\na: 2\na: 3', want: { a: 3 }, duplicates: ['a'] },
    { text: '{"a":1,"a":2}', want: { a: 2 }, duplicates: ['a'] },
    { text: '{a: 1, b: [x, {c: d}]}', want: { a: 1, b: ['x', { c: 'd' }] } },
    { text: '', want: null },
    { text: '---\na: 1\n...', want: { a: 1 } },
    { text: 'a: |\n  x\n  y\nb: >-\n  x\n  y', want: { a: 'x\ny\n', b: 'x y' } },
  ];

for (const { text, want, duplicates = [] } of documents) {
  test(`reads ${JSON.stringify(text)}`, () => {
    assert.deepEqual(parseYaml(text), {
      value: want,
      duplicates: duplicates.map((path) => `duplicate field "${path}"`),
    });
  });
}

const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]']
  .concat(
    Array.from('bcdefgh').map(
      (name, index) => `${name}: &${name} [${Array(10).fill(`*${'abcdefg'[index]}`).join(',')}]`,
    ),
  )
  .join('\n');

const refused = [
  { name: 'several documents', text: 'a: 1\n---\nb: 2', want: /only one document/ },
  { name: 'a malformed document', text: 'a: [', want: /^yaml: line \d+: / },
  { name: 'a tab for indentation', text: 'a:\n\tb: 1', want: /^yaml: line 2: / },
  { name: 'an alias bomb', text: bomb, want: /excessive aliasing/ },
  { name: 'an alias of itself', text: 'a: &a [*a]', want: /depth|aliasing/ },
  { name: 'a map as a key', text: '? {a: 1}\n: 2', want: /unsupported map key/ },
  { name: 'a null key', text: '~: 2', want: /unsupported map key/ },
  { name: 'an unknown tag', text: 'a: !!js/function x', want: /unknown/ },
  { name: 'deep nesting', text: '['.repeat(2000), want: /./ },
];

for (const { name, text, want } of refused) {
  test(`rejects ${name}`, () => {
    assert.throws(
      () => parseYaml(text),
      (error) => error instanceof YamlError && want.test(error.message),
    );
  });
}

test('limits the characters of expanded aliases', () => {
  const text = `a: &a ${'x'.repeat(100_000)}\nb: [${Array(1000).fill('*a').join(',')}]`;
  assert.throws(() => parseYaml(text), { code: 'YAML', message: 'yaml: document contains excessive aliasing' });
});

test('reports up to 100 duplicate keys', () => {
  const keys = Array.from({ length: 2000 }, (_, index) => `k${index}: 1\n`).join('');
  const { duplicates } = parseYaml(keys + keys);
  assert.equal(duplicates.length, 100);
  assert.equal(duplicates[99], 'duplicate field "k99"');
});

test('a number out of range for JSON is a string', () => {
  assert.deepEqual(parseYaml(`a: 1e999\nb: ${'9'.repeat(400)}`).value, { a: '1e999', b: '9'.repeat(400) });
});

test('truncates long errors', () => {
  assert.throws(
    () => parseYaml(`a: !${'x'.repeat(100_000)} y`),
    (error: Error) => error.message.length < 1100,
  );
});

test('a __proto__ key is data', () => {
  const { value } = parseYaml('__proto__: {admin: true}');
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.ok(Object.hasOwn(value as object, '__proto__'));
});

test('parsing reverses writing', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { noNullPrototype: true }), (value) => {
      const plain: unknown = JSON.parse(JSON.stringify(value));
      assert.deepEqual(parseYaml(dump(plain)), { value: plain, duplicates: [] });
    }),
  );
});

const syntax = [
  'a',
  'b: ',
  '- ',
  '? ',
  ': ',
  '&a ',
  '*a',
  '!!str ',
  '!!map ',
  '!!int ',
  '!x ',
  '[',
  ']',
  '{',
  '}',
  ', ',
]
  .concat([
    '\n',
    '\n  ',
    '|',
    '>',
    '"',
    "'",
    '#',
    ' ',
    '---\n',
    '...\n',
    '%YAML 1.1\n',
    '%TAG ! x:\n',
    '<<: ',
    '!!merge ',
  ])
  .concat(['1', '0x', '~', '\t', '\\', '\0', '\ufeff', '\r', '!<', '1e9', '__proto__: ']);

test('parses any text or rejects it with a YamlError', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...syntax), { maxLength: 20 }), (parts) => {
      try {
        parseYaml(parts.join(''));
      } catch (error) {
        assert.ok(error instanceof YamlError, String(error));
      }
    }),
    { numRuns: 1000 },
  );
});
