import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { prettyPieces } from './pretty.ts';

const values: readonly unknown[] = [
  null,
  -1.5e-7,
  {},
  [],
  [[]],
  [{}],
  { a: {}, b: [] },
  [[], {}, [[1]]],
  ['"', '\\', '\\"', '\\\\"', '{}[],: "', 'a\nb', '\u0001', 'é😀', '\ud800'],
  { kind: 'List', metadata: {}, items: [{ a: 'b', c: [1, 2, { d: null }] }, { '"': '\\' }] },
];

suite('indents like JSON.stringify', () => {
  for (const value of values) {
    for (const shape of [value, [value, value], { a: value, b: { c: [value] } }]) {
      const json = JSON.stringify(shape);
      test(json, () => assert.equal([...prettyPieces([json], 7)].join(''), JSON.stringify(shape, null, 2)));
    }
  }
});

test('accepts an empty list in two pieces', () => {
  assert.equal([...prettyPieces(['{"items":[', ']}\n'], 100)].join(''), '{\n  "items": []\n}\n');
  assert.equal(
    [...prettyPieces(['{"items":[', '{}', ',{"a":1}', ']}\n'], 100)].join(''),
    `${JSON.stringify({ items: [{}, { a: 1 }] }, null, 2)}\n`,
  );
});

test('returns pieces of the given size plus at most one token', () => {
  const value = Array.from({ length: 1000 }, (_, index) => ({ name: `n${index}` }));
  const pieces = [...prettyPieces([JSON.stringify(value)], 100)];
  assert.equal(pieces.join(''), JSON.stringify(value, null, 2));
  assert.ok(Math.max(...pieces.map((piece) => piece.length)) < 120);
});
