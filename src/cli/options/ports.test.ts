import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePort, parsePortRange } from './ports.ts';

const ranges: readonly (readonly [given: string, from: number, to: number])[] = [
  ['30000-32767', 30000, 32767],
  ['30000+10', 30000, 30010],
  [' 8080 ', 8080, 8080],
  ['1-65535', 1, 65535],
];
for (const [given, from, to] of ranges) {
  test(`node port range ${given.trim()}`, () => assert.deepEqual(parsePortRange(given), { from, to }));
}

const errors: readonly (readonly [given: string, want: string])[] = [
  ['', '"" is not a port range such as 30000-32767'],
  ['a-b', '"a-b" is not a port range such as 30000-32767'],
  ['30000-', '"30000-" is not a port range such as 30000-32767'],
  ['0-10', '"0-10" starts at port 0: the first port must be 1 or more'],
  ['60000-70000', '"60000-70000" ends at 70000: the last port is 65535'],
  ['65535+1', '"65535+1" ends at 65536: the last port is 65535'],
  ['31000-30000', '"31000-30000" ends before it starts'],
];
for (const [given, want] of errors) {
  test(`node port range refuses ${given || 'nothing'}`, () =>
    assert.throws(() => parsePortRange(given), { message: want, code: 'USAGE' }));
}

test('a port is a number up to 65535', () => {
  assert.equal(parsePort('6443'), 6443);
  for (const text of ['', '-1', '65536', '1e3', '0x10', '12 ']) {
    assert.throws(() => parsePort(text), { code: 'USAGE' }, text);
  }
});
