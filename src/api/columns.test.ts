import assert from 'node:assert/strict';
import { test } from 'node:test';
import { age, duration, labelsText, truncatedList } from './columns.ts';

const s = 1000;
const m = 60 * s;
const h = 60 * m;
const d = 24 * h;
const y = 365 * d;

const durations: readonly (readonly [number, string])[] = [
  [-2000, '<invalid>'],
  [-1999, '0s'],
  [0, '0s'],
  [999, '0s'],
  [s, '1s'],
  [119 * s, '119s'],
  [2 * m, '2m'],
  [2 * m + 5 * s, '2m5s'],
  [10 * m - s, '9m59s'],
  [10 * m + 30 * s, '10m'],
  [3 * h - s, '179m'],
  [3 * h, '3h'],
  [3 * h + 7 * m, '3h7m'],
  [8 * h + 30 * m, '8h'],
  [48 * h - s, '47h'],
  [48 * h, '2d'],
  [49 * h, '2d1h'],
  [8 * d - s, '7d23h'],
  [8 * d + h, '8d'],
  [2 * y - s, '729d'],
  [2 * y, '2y'],
  [2 * y + 3 * d, '2y3d'],
  [8 * y + 3 * d, '8y'],
];
for (const [milliseconds, want] of durations) {
  test(`${milliseconds} ms print as ${want}`, () => assert.equal(duration(milliseconds), want));
}

test('an age is the time since the timestamp, and unknown without one', () => {
  const now = Date.parse('2026-01-01T00:01:00Z');
  assert.equal(age('2026-01-01T00:00:00Z', now), '60s');
  assert.equal(age(undefined, now), '<unknown>');
  assert.equal(age('', now), '<unknown>');
});

test('a long list is truncated and ends with the number of omitted items', () => {
  assert.equal(truncatedList(3, []), '');
  assert.equal(truncatedList(3, ['a', 'b', 'c']), 'a,b,c');
  assert.equal(truncatedList(3, ['a', 'b', 'c', 'd', 'e']), 'a,b,c + 2 more...');
});

test('labels are sorted by key', () => {
  assert.equal(labelsText(undefined), '<none>');
  assert.equal(labelsText({}), '<none>');
  assert.equal(labelsText({ b: '2', a: '1' }), 'a=1,b=2');
});
