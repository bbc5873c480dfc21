import assert from 'node:assert/strict';
import { test } from 'node:test';

import { duplicateKeys } from './yaml-duplicates.ts';

const cases: readonly (readonly [name: string, text: string, want: readonly string[]])[] = [
  ['no repeated keys', 'a: 1\nb: {a: 1}\nc: [{a: 1}, {a: 1}]\n', []],
  ['a repeated key', 'a: 1\nspec:\n  foo: x\n  foo: y\n', ['line 4: key "foo" already set in map']],
  ['values that are collections', 'a: {b: [1]}\na: [{b: 1}]\nb: 1\n', ['line 2: key "a" already set in map']],
  ['quoted keys', '"a": 1\na: 2\n', ['line 2: key "a" already set in map']],
  [
    'JSON',
    '{"a":1,"b":{"c":1,"c":2},"a":3}',
    ['line 1: key "c" already set in map', 'line 1: key "a" already set in map'],
  ],
];

for (const [name, text, want] of cases) {
  test(`lists the lines of repeated keys: ${name}`, () => assert.deepEqual(duplicateKeys(text), want));
}

test('lists the first 100 repeated keys', () => {
  assert.equal(duplicateKeys('a: 1\n'.repeat(500)).length, 100);
});
