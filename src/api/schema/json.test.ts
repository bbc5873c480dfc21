import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import fc from 'fast-check';

import { scanJson, strictProblems } from './json-scan.ts';
import { JsonError, parseJson } from './json.ts';
import { list, map, optional, string, struct } from './schema.ts';

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
  test(`rejects ${text.slice(0, 20)}`, () => {
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

test('reports no duplicates in text without any, and finds one copied pair', () => {
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

test('rejects exactly what JSON.parse rejects', () => {
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

suite('problem lists', () => {
  const times = (count: number, text: (index: number) => string): string =>
    Array.from({ length: count }, (_, i) => text(i)).join(',');

  test('stop at 100 duplicate keys', () => {
    const keys = times(5000, (index) => `"k${index}":1`);
    const { duplicates } = parseJson(`{${keys},${keys}}`);
    assert.equal(duplicates.length, 100);
    assert.equal(duplicates[99], 'duplicate field "k99"');
  });

  test('contain each key once', () => {
    assert.deepEqual(parseJson(`{${times(30_000, () => '"a":1')}}`).duplicates, ['duplicate field "a"']);
  });

  test('truncate long paths', () => {
    const { duplicates } = parseJson(`{"${'x'.repeat(60_000)}":{${times(10_000, (index) => `"k${index >> 1}":1`)}}}`);
    for (const duplicate of duplicates) assert.ok(duplicate.length < 600);
    assert.match(duplicates[0] ?? '', /^duplicate field "x{512}\.\.\."$/);
  });

  test('contain unknown and duplicate fields in document order', () => {
    const schema = struct('io.example.v1.Thing', '', {
      a: optional(1, string, ''),
      b: optional(2, list(map(string)), ''),
    });
    const text = '{"2":0,"a":"","b":[{"x":""},{"x":"","y":"","x":""}],"1":{"a":1,"a":2},"a":"","2":0}';
    assert.deepEqual(strictProblems(text, schema), [
      'unknown field "2"',
      'duplicate field "b[1].x"',
      'unknown field "1"',
      'duplicate field "1.a"',
      'duplicate field "a"',
      'duplicate field "2"',
    ]);
  });
});

test('rejects more than 100,000 values before parsing', () => {
  const items = (count: number): string => `[${Array(count).fill('0').join(',')}]`;
  assert.equal((parseJson(items(99_998)).value as unknown[]).length, 99_998);
  for (const text of [items(100_000), `{"a":"b"${',"a":"b"'.repeat(100_000)}`, '{},'.repeat(60_000)]) {
    assert.throws(() => parseJson(text), { code: 'TOO_MANY_VALUES' });
  }
});

test('replaces lone surrogates with U+FFFD, as Go does, and keeps pairs and escaped text', () => {
  const read = (text: string): unknown => parseJson(text).value;
  assert.deepEqual(read('{"a":"\\ud800","\\uDC00":"x\\ud83dy"}'), { a: '\ufffd', '\ufffd': 'x\ufffdy' });
  assert.equal(read('"\\ud83d\\ude00 \\ud800\\ud83d\\ude00"'), '\u{1f600} \ufffd\u{1f600}');
  assert.equal(read('"\\\\ud800"'), '\\ud800');
});
