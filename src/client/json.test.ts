import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { stripManagedFields } from './json.ts';

const cases: readonly (readonly [name: string, given: string, want: string])[] = [
  ['none', '{"metadata":{"name":"a"}}', '{"metadata":{"name":"a"}}'],
  ['alone', '{"metadata":{"managedFields":[{}]}}', '{"metadata":{}}'],
  ['first', '{"metadata":{"managedFields":[],"name":"a"}}', '{"metadata":{"name":"a"}}'],
  ['last', '{"metadata":{"name":"a","managedFields":[[],{}]},"spec":[]}', '{"metadata":{"name":"a"},"spec":[]}'],
  [
    'with brackets and quotes in names',
    String.raw`{"metadata":{"managedFields":[{"fieldsV1":{"k:{\"a\":\"]\\\"}":{}}}],"uid":"1"}}`,
    '{"metadata":{"uid":"1"}}',
  ],
  ['cut off', '{"metadata":{"managedFields":[{"a":"', '{"metadata":{"managedFields":[{"a":"'],
];

for (const [name, given, want] of cases) {
  test(`strips managed fields: ${name}`, () => assert.equal(stripManagedFields(given), want));
}

test('strips nothing but the managed fields of any object', () => {
  const words = fc.oneof(fc.string(), fc.constant('"managedFields":['), fc.constant('\\"managedFields":[{"'));
  const labels = fc.dictionary(words, words);
  const tree = fc.letrec((tie) => ({
    node: fc.oneof({ maxDepth: 3 }, words, fc.array(tie('node')), fc.dictionary(words, tie('node'))),
  })).node;
  fc.assert(
    fc.property(labels, fc.array(tree), labels, (before, managedFields, after) => {
      const whole = { metadata: { before, managedFields, after } };
      const rest = { metadata: { before, after } };
      assert.deepEqual(JSON.parse(stripManagedFields(JSON.stringify(whole))), JSON.parse(JSON.stringify(rest)));
      assert.equal(stripManagedFields(JSON.stringify(rest)), JSON.stringify(rest));
    }),
  );
});
