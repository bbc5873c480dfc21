import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  durationFrom,
  listOf,
  oneOf,
  parseBoolean,
  parseDuration,
  parseListenAddress,
  parseNamespace,
  parsePort,
  parsePortRange,
  parseRange,
} from './values.ts';

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
  ['', 'expected a port range such as 30000-32767'],
  ['a-b', 'expected a port range such as 30000-32767'],
  ['30000-', 'expected a port range such as 30000-32767'],
  ['0-10', 'it starts at port 0: the first port must be 1 or more'],
  ['60000-70000', 'it ends at 70000: the last port is 65535'],
  ['65535+1', 'it ends at 65536: the last port is 65535'],
  ['31000-30000', 'it ends before it starts'],
];
for (const [given, want] of errors) {
  test(`node port range rejects ${given || 'an empty text'}`, () =>
    assert.throws(() => parsePortRange(given), { message: want, code: 'USAGE' }));
}

test('a port is a number up to 65535', () => {
  assert.equal(parsePort('6443'), 6443);
  for (const text of ['', '-1', '65536', '1e3', '0x10', '12 ']) {
    assert.throws(() => parsePort(text), { code: 'USAGE' }, text);
  }
});

const durations: readonly (readonly [string, number])[] = [
  ['15s', 15_000],
  ['1m30s', 90_000],
  ['1.5s', 1500],
  ['250ms', 250],
  ['1h', 3_600_000],
  ['1h30m', 5_400_000],
  ['90d', 7_776_000_000],
  ['0s', 0],
  ['0', 0],
];
for (const [text, want] of durations) test(`${text} is ${want} ms`, () => assert.equal(parseDuration(text), want));
for (const text of ['', 's', '1', '-1s', '1 s', '1w', '1h ']) {
  test(`rejects the duration "${text}"`, () =>
    assert.throws(() => parseDuration(text), { message: /^time: invalid duration "/, code: 'USAGE' }));
}
test('rejects a duration below the minimum', () =>
  assert.throws(() => durationFrom(1000, '1s')('0h'), { message: 'expected at least 1s' }));

test('parses booleans like Go', () => {
  assert.deepEqual(['true', '1', 'T', 'false', '0', 'F'].map(parseBoolean), [true, true, true, false, false, false]);
  assert.throws(() => parseBoolean('yes'));
});

test('names the value of a list that is invalid', () => {
  assert.deepEqual(listOf(parseNamespace)('a, kube-system,,'), ['a', 'kube-system']);
  assert.throws(() => listOf(parseNamespace)('a,B'), { message: /^"B": expected the name of a namespace/ });
});

test('parses a range to its canonical form, and an address to a range of one address', () => {
  assert.deepEqual(['10.1.2.3/8', '192.0.2.1', 'FD00::1/64', '::1'].map(parseRange), [
    '10.0.0.0/8',
    '192.0.2.1/32',
    'fd00::/64',
    '::1/128',
  ]);
  assert.throws(() => parseRange('10.0/8'), { message: 'expected a CIDR such as 10.0.0.0/8' });
});

test('parses address and port, with IPv6 in brackets', () => {
  assert.deepEqual(parseListenAddress('127.0.0.1:10256'), { host: '127.0.0.1', port: 10256 });
  assert.deepEqual(parseListenAddress('[::1]:0'), { host: '::1', port: 0 });
  for (const text of ['localhost:1', '127.0.0.1', ':80'])
    assert.throws(() => parseListenAddress(text), { code: 'USAGE' });
});

test('lists the choices of a flag in an error', () => {
  assert.throws(() => oneOf(['a', 'b', 'c'])('d'), { message: 'expected a, b or c' });
});
