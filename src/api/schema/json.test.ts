import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { scanJson } from './json-scan.ts';
import { JsonError, parseJson } from './json.ts';

const duplicates = [
  { text: '{"a":1,"b":{"a":1}}', want: [] },
  { text: '{"a":":","b":"\\":{\\\\"}', want: [] },
  { text: '{"a":1,"a":2}', want: ['a'] },
  { text: '{"spec":{"ports":[],"x":1,"ports":[1]}}', want: ['spec.ports'] },
  { text: '{"spec":{"ports":[{"name":"a"},{"name":"a","name":"b","name":"c"}]}}', want: ['spec.ports[1].name'] },
  { text: '{"a":1,"\\u0061":2}', want: ['a'] },
  { text: '{"__proto__":1,"__proto__":2}', want: ['__proto__'] },
  { text: '[{"a":1},{"b":1,"b":2}]', want: ['[1].b'] },
];

for (const { text, want } of duplicates) {
  test(`duplicates of ${text}`, () => {
    const parsed = parseJson(text);
    assert.deepEqual(
      parsed.duplicates,
      want.map((path) => `duplicate field "${path}"`),
    );
    assert.deepEqual(parsed.value, JSON.parse(text));
  });
}

const malformed = [
  { text: '', want: 'unexpected end of JSON input' },
  { text: '{"a":', want: 'unexpected end of JSON input' },
  { text: 'hello', want: "invalid character 'h' looking for beginning of value" },
  { text: '{a:1}', want: "invalid character 'a' looking for beginning of object key string" },
  { text: '{"a" 1}', want: "invalid character '1' after object key" },
  { text: '{"a":1 "b":2}', want: `invalid character '"' after object key:value pair` },
  { text: '[1 2]', want: "invalid character '2' after array element" },
  { text: '[1]x', want: "invalid character 'x' after top-level value" },
  { text: 'nulx', want: "invalid character 'x' in literal null (expecting 'l')" },
  { text: '1.x', want: "invalid character 'x' after decimal point in numeric literal" },
  { text: '-x', want: "invalid character 'x' in numeric literal" },
  { text: '"\\x"', want: "invalid character 'x' in string escape code" },
  { text: '"\n"', want: "invalid character '\\n' in string literal" },
  { text: '['.repeat(501), want: 'exceeded max depth of 500' },
  { text: '{"a":'.repeat(100_000), want: 'exceeded max depth of 500' },
];

for (const { text, want } of malformed) {
  test(`refuses ${text.slice(0, 20)}`, () => {
    assert.throws(
      () => parseJson(text),
      (error) => error instanceof JsonError && error.message === want,
    );
  });
}

test('a __proto__ key is data, not a prototype', () => {
  const { value } = parseJson('{"__proto__":{"admin":true}}');
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.equal((value as { admin?: boolean }).admin, undefined);
});

test('text without duplicates reports none, and one copied pair is found', () => {
  fc.assert(
    fc.property(fc.json({ noUnicodeString: false }), fc.string(), (text, key) => {
      assert.deepEqual(parseJson(text).duplicates, scanJson(text));
      const name = JSON.stringify(key);
      const doubled = parseJson(`{${name}:${text},"other key":[{"x":1}],${name}:1}`);
      assert.ok(doubled.duplicates.length > 0);
      assert.deepEqual(doubled.value, JSON.parse(`{"other key":[{"x":1}],${name}:1}`));
    }),
  );
});

const token = fc.constantFrom(
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"a"',
  '"',
  '\\',
  '1',
  '-',
  '.',
  'e',
  '0',
  'true',
  'nul',
  ' ',
  '\u0001',
);

test('refuses exactly what JSON.parse refuses', () => {
  const isJson = (parse: (text: string) => unknown, text: string): boolean => {
    try {
      parse(text);
      return true;
    } catch (error) {
      assert.ok(error instanceof SyntaxError || error instanceof JsonError);
      return false;
    }
  };
  fc.assert(
    fc.property(fc.array(token, { maxLength: 12 }), (tokens) => {
      const text = tokens.join('');
      const want = isJson((given) => JSON.parse(given) as unknown, text);
      assert.equal(isJson(scanJson, text), want);
      assert.equal(isJson(parseJson, text), want);
    }),
    { numRuns: 2000 },
  );
});

test('half of a surrogate pair is U+FFFD, as Go reads it, and whole pairs and text that looks like one stay', () => {
  const read = (text: string): unknown => parseJson(text).value;
  assert.deepEqual(read('{"a":"\\ud800","\\uDC00":"x\\ud83dy"}'), { a: '\ufffd', '\ufffd': 'x\ufffdy' });
  assert.equal(read('"\\ud83d\\ude00 \\ud800\\ud83d\\ude00"'), '\u{1f600} \ufffd\u{1f600}');
  assert.equal(read('"\\\\ud800"'), '\\ud800');
});
