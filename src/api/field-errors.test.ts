import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { causesOf, invalidValue, joinErrors, required } from './field-errors.ts';

const errors = (count: number) => Array.from({ length: count }, (_, index) => required(`spec.ports[${index}].port`));

suite('a list of field errors', () => {
  test('is complete up to 100 errors', () => {
    assert.equal(causesOf(errors(100)).length, 100);
    assert.equal(joinErrors(errors(100)).split(', ').length, 100);
    assert.equal(joinErrors(errors(1)), 'spec.ports[0].port: Required value');
    assert.equal(joinErrors([...errors(1), ...errors(1)]), 'spec.ports[0].port: Required value');
  });

  test('ends with the number of errors beyond 100', () => {
    assert.deepEqual(causesOf(errors(60_000)).slice(99), [
      { reason: 'FieldValueRequired', message: 'Required value', field: 'spec.ports[99].port' },
      { message: '59900 more errors are not listed' },
    ]);
    assert.ok(
      joinErrors(errors(60_000)).endsWith('spec.ports[99].port: Required value, 59900 more errors are not listed]'),
    );
  });

  test('truncates long values and paths', () => {
    const long = 'x'.repeat(3_000_000);
    for (const value of [long, { long }, [[long]]]) {
      const error = invalidValue(long, value, 'is too long');
      assert.ok(joinErrors([error]).length < 10_000);
      assert.ok(JSON.stringify(causesOf([error])).length < 15_000);
      assert.match(error.body, /^Invalid value: .+\.\.\."?: is too long$/);
    }
  });
});
