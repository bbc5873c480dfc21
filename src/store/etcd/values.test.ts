import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { decodeValue, encodeShared, encodeValue } from './values.ts';

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

test('encrypted values are stored as by a kube-apiserver where it shares the prefix', () => {
  const value = `k8s:enc:aesgcm:v1:key1:${Buffer.from([255, 0, 254]).toString('base64')}`;
  assert.equal(encodeShared(value).toString('latin1'), 'k8s:enc:aesgcm:v1:key1:\u00ff\u0000\u00fe');
  assert.deepEqual(encodeShared('{}'), Buffer.from('{}'));
});
