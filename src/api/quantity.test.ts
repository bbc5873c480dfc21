import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as fc from 'fast-check';

import type { QuantityFormat } from './quantity.ts';
import { addQuantities, isWhole, parseQuantity, printQuantity, subtractQuantities, zero } from './quantity.ts';

const printed: readonly (readonly [given: string, want: string])[] = [
  ['0', '0'],
  ['0.000', '0'],
  ['1', '1'],
  ['+1', '1'],
  ['-1.5', '-1500m'],
  ['.5', '500m'],
  ['5.', '5'],
  ['100m', '100m'],
  ['1000m', '1'],
  ['0.1', '100m'],
  ['1500m', '1500m'],
  ['1k', '1k'],
  ['1000', '1k'],
  ['1024', '1024'],
  ['12345', '12345'],
  ['1E', '1E'],
  ['1e3', '1e3'],
  ['1E3', '1e3'],
  ['1.5e3', '1500'],
  ['100e-2', '1'],
  ['1e-3', '1e-3'],
  ['1Ki', '1Ki'],
  ['1.5Gi', '1536Mi'],
  ['0.5Ki', '512'],
  ['1023Ki', '1023Ki'],
  ['1024Ki', '1Mi'],
  ['1n', '1n'],
  ['0.1n', '1n'],
  ['1.1n', '2n'],
  ['0.0000000001', '1n'],
  ['9223372036854775807', '9223372036854775807'],
  ['9223372036854775808', '9223372036854775807'],
  ['1e1000000000', '9223372036854775807'],
  ['1e-1000000000', '1e-9'],
  ['0e1000000000', '0'],
  ['000000000000000000000000000000000000000000000000000000000000007', '7'],
];

test('prints quantities in canonical form', () => {
  for (const [given, want] of printed) assert.equal(printQuantity(parseQuantity(given)), want, given);
});

test('parses many digits in linear time', () => {
  const long = '1'.repeat(3_000_000);
  assert.equal(printQuantity(parseQuantity(long)), '9223372036854775807');
  assert.equal(printQuantity(parseQuantity(`0.${long}`)), '111111112n');
});

test('a sum has the format of the first quantity that is not zero', () => {
  const sum = (...texts: readonly string[]): string =>
    printQuantity(texts.map(parseQuantity).reduce(addQuantities, zero));
  assert.equal(sum('500m', '500m'), '1');
  assert.equal(sum('1Gi', '1024Mi'), '2Gi');
  assert.equal(sum('0', '1Gi'), '1Gi');
  assert.equal(sum('1G', '1Gi'), '2073741824');
  assert.equal(isWhole(parseQuantity('1500m')), false);
  assert.equal(isWhole(parseQuantity('1e3')), true);
});

test('parsing reverses printing, and subtracting reverses adding', () => {
  const quantity = fc.record({
    nano: fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }),
    format: fc.constantFrom<QuantityFormat>('BinarySI', 'DecimalSI', 'DecimalExponent'),
  });
  fc.assert(
    fc.property(quantity, quantity, (a, b) => {
      assert.equal(parseQuantity(printQuantity(a)).nano, a.nano);
      assert.equal(subtractQuantities(addQuantities(a, b), b).nano, a.nano);
    }),
  );
});
