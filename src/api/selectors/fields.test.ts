import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import fc from 'fast-check';

import type { FieldRequirement } from './fields.ts';
import { parseFieldSelector } from './fields.ts';

suite('valid field selectors', () => {
  const table: readonly [text: string, want: readonly FieldRequirement[]][] = [
    ['', []],
    [',', []],
    ['a=b', [{ path: 'a', equal: true, value: 'b' }]],
    ['a==b', [{ path: 'a', equal: true, value: 'b' }]],
    ['a!=b', [{ path: 'a', equal: false, value: 'b' }]],
    ['a=', [{ path: 'a', equal: true, value: '' }]],
    [
      'a=b,c!=d',
      [
        { path: 'a', equal: true, value: 'b' },
        { path: 'c', equal: false, value: 'd' },
      ],
    ],
    ['a=b\\,c', [{ path: 'a', equal: true, value: 'b,c' }]],
    ['a=b\\=c\\\\', [{ path: 'a', equal: true, value: 'b=c\\' }]],
    ['a=b c', [{ path: 'a', equal: true, value: 'b c' }]],
  ];
  for (const [text, want] of table) test(`"${text}"`, () => assert.deepEqual(parseFieldSelector(text), want));
});

suite('invalid field selectors', () => {
  const table: readonly [text: string, want: string][] = [
    ['a', "invalid selector: 'a'; can't understand 'a'"],
    ['a=b,c', "invalid selector: 'c'; can't understand 'c'"],
    ['a=\\x', 'invalid field selector: invalid escape sequence: \\x'],
    ['a=b\\', 'invalid field selector: invalid escape sequence: \\'],
    ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
  ];
  for (const [text, want] of table) {
    test(`"${text}"`, () => assert.throws(() => parseFieldSelector(text), { message: want }));
  }
});

test('a selector has at most 100 terms', () => {
  assert.equal(parseFieldSelector('a=b,'.repeat(100)).length, 100);
  assert.throws(() => parseFieldSelector('a=b,'.repeat(101)), {
    message: 'invalid selector: it has more than 100 terms',
  });
});

test('parsing reverses escaping of any value', () => {
  fc.assert(
    fc.property(fc.string(), fc.boolean(), (value, equal) => {
      const text = `a.b${equal ? '=' : '!='}${value.replaceAll(/[\\,=]/g, '\\$&')}`;
      assert.deepEqual(parseFieldSelector(text), [{ path: 'a.b', equal, value }]);
    }),
  );
});
