import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseDuration } from './duration.ts';

for (const [text, seconds] of [
  ['10s', 10],
  ['1h30m', 5400],
  ['90d', 7_776_000],
] as const) {
  test(`${text} is ${seconds} s`, () => assert.equal(parseDuration(text), seconds));
}
for (const text of ['', '0h', '10', 'd', '1.5h', '-1h', '1w', '1h ']) {
  test(`"${text}" is no duration`, () => assert.throws(() => parseDuration(text), /^Error: expected /));
}
