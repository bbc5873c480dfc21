import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { firstServiceIp, overlap, parseServiceRanges } from './cidr.ts';

const ranges: readonly (readonly [given: string, want: readonly string[]])[] = [
  ['10.96.0.0/16', ['10.96.0.0/16']],
  ['10.96.3.7/16', ['10.96.0.0/16']],
  ['10.0.0.0/24,fd00:10::/108', ['10.0.0.0/24', 'fd00:10::/108']],
  ['fd00::/127', ['fd00::/127']],
  ['FD00:0::/112 , 10.0.0.0/30', ['fd00::/112', '10.0.0.0/30']],
];
for (const [given, want] of ranges) {
  test(`service range ${given}`, () => assert.deepEqual(parseServiceRanges(given), want));
}

const errors: readonly (readonly [given: string, want: string])[] = [
  ['', '"" is not a CIDR such as 10.96.0.0/16'],
  ['10.0.0.0', '"10.0.0.0" is not a CIDR such as 10.96.0.0/16'],
  ['10.0/16', '"10.0/16" is not a CIDR such as 10.96.0.0/16'],
  ['10.0.0.0/33', '"10.0.0.0/33" is not a CIDR such as 10.96.0.0/16'],
  ['10.0.0.0/31', '"10.0.0.0/31" is too small for Services: expected /30 or shorter'],
  ['10.0.0.0/7', '"10.0.0.0/7" is too large: an IPv4 range must be /8 or longer'],
  ['fd00::/128', '"fd00::/128" is too small for Services: expected /127 or shorter'],
  ['fd00::/48', '"fd00::/48" is too large: an IPv6 range must be /64 or longer'],
  ['10.0.0.0/16,10.1.0.0/16', '"10.0.0.0/16,10.1.0.0/16" has two IPv4 ranges: expected one IPv4 and one IPv6'],
  [
    '10.0.0.0/16,fd00::/112,fd01::/112',
    '"10.0.0.0/16,fd00::/112,fd01::/112" has 3 ranges: expected one, or one IPv4 and one IPv6',
  ],
];
for (const [given, want] of errors) {
  test(`service range rejects ${given || 'an empty text'}`, () =>
    assert.throws(() => parseServiceRanges(given), { message: want, code: 'USAGE' }));
}

test('the kubernetes Service has the first address', () => {
  assert.equal(firstServiceIp('127.64.0.0/16'), '127.64.0.1');
  assert.equal(firstServiceIp('10.0.0.8/30'), '10.0.0.9');
  assert.equal(firstServiceIp('fd00::/112'), 'fd00::1');
});

const pairs: readonly (readonly [left: string, right: string, want: boolean])[] = [
  ['127.64.0.0/16', '127.65.0.0/16', false],
  ['127.64.0.0/16', '127.64.9.0/24', true],
  ['10.0.0.0/8', '10.255.255.0/30', true],
  ['10.0.0.0/15', '10.1.0.0/16', true],
  ['10.0.0.0/8', 'fd00::/112', false],
];
for (const [left, right, want] of pairs) {
  test(`${left} and ${right} ${want ? 'overlap' : 'are apart'}`, () => {
    assert.equal(overlap(left, right), want);
    assert.equal(overlap(right, left), want);
  });
}

const range = fc
  .tuple(fc.ipV4(), fc.integer({ min: 8, max: 30 }))
  .map(([address, prefix]) => parseServiceRanges(`${address}/${prefix}`)[0] ?? '');

test('ranges overlap when the longer one starts in the shorter, as node:net sees it', () => {
  fc.assert(
    fc.property(range, range, (left, right) => {
      const [shorter, longer] = prefixOf(left) <= prefixOf(right) ? [left, right] : [right, left];
      assert.equal(overlap(left, right), contains(shorter, addressOf(longer)));
    }),
  );
});

test('parsing a printed range changes nothing, and the range contains its first address', () => {
  fc.assert(
    fc.property(range, (cidr) => {
      assert.deepEqual(parseServiceRanges(cidr), [cidr]);
      assert.ok(contains(cidr, firstServiceIp(cidr)));
      assert.notEqual(firstServiceIp(cidr), addressOf(cidr));
    }),
  );
});

const prefixOf = (cidr: string): number => Number(cidr.split('/')[1]);
const addressOf = (cidr: string): string => cidr.split('/')[0] ?? '';

function contains(cidr: string, address: string): boolean {
  const list = new BlockList();
  list.addSubnet(addressOf(cidr), prefixOf(cidr));
  return list.check(address);
}
