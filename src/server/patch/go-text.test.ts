import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { printGo, printRestoreProblem } from './go-text.ts';

suite('a value as Go prints it', () => {
  const table: readonly [value: unknown, want: string][] = [
    [null, '<nil>'],
    ['a b', 'a b'],
    [[1, 'a', [true, null]], '[1 a [true <nil>]]'],
    [{ b: 1, a: { c: [] } }, 'map[a:map[c:[]] b:1]'],
  ];
  for (const [value, want] of table) test(want, () => assert.equal(printGo(value), want));

  test('truncates long values', () => {
    const long = 'x'.repeat(100_000);
    let nested: unknown = long;
    for (let depth = 0; depth < 400; depth++) nested = depth % 2 === 0 ? [nested] : { a: nested };
    const values = [long, [long], { [long]: long }, nested, Array(100_000).fill(0), Array(3000).fill({ a: [long] })];
    for (const value of values) assert.equal(printGo(value).length, 4099);
  });
});

suite('the error about a type in a strategically patched object', () => {
  const into = (found: string, type: string): string =>
    `json: cannot unmarshal ${found} into Go struct field ObjectMeta.metadata.labels of type ${type}`;
  const table: readonly [problem: string, want: string][] = [
    [into('string', 'map[string]string'), 'cannot restore map from string'],
    [into('object', '[]string'), 'cannot restore slice from map'],
    [into('number 5', 'v1.ServiceSpec'), 'cannot restore struct from: int64'],
    [into('number', 'string'), 'cannot convert int64 to string'],
    [into('number 1.5', 'int32'), 'cannot convert float64 to int32'],
    [into('object', 'string'), 'unrecognized type: string'],
    [into('string', 'v1.Time'), into('string', 'v1.Time')],
    ['illegal base64 data at input byte 0', 'illegal base64 data at input byte 0'],
  ];
  for (const [problem, want] of table) test(want, () => assert.equal(printRestoreProblem(problem), want));
});
