import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { decodeValue, encodeValue } from './values.ts';

test('every text is stored and read, with its position', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat({ max: 127 }), (value, position) => {
      assert.deepEqual(decodeValue(encodeValue(value, position)), { value, position });
    }),
  );
});

test('a value that ends like a position is read unchanged', () => {
  for (const position of [0, 5]) {
    const value = `{}${encodeValue('', 3).toString()}`;
    assert.deepEqual(decodeValue(encodeValue(value, position)), { value, position });
  }
});

test('values of other programs survive a copy, whatever their bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const { value, position } = decodeValue(bytes);
      if (position === 0) assert.deepEqual(new Uint8Array(encodeValue(value, 0)), bytes);
    }),
  );
});
