import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { AddressPool } from './address-pool.ts';

/** The first address of a random choice, and the last. */
const least = (): number => 0;
const greatest = (): number => 1 - Number.EPSILON / 2;

const bands = [
  { cidr: '10.0.0.0/30', usable: 2, dynamic: ['10.0.0.1', '10.0.0.2'] },
  { cidr: '10.0.0.0/28', usable: 14, dynamic: ['10.0.0.1', '10.0.0.14'] },
  { cidr: '10.0.0.0/24', usable: 254, dynamic: ['10.0.0.17', '10.0.0.254'] },
  { cidr: '10.96.0.0/20', usable: 4094, dynamic: ['10.96.1.1', '10.96.15.254'] },
  { cidr: '10.96.0.0/16', usable: 65534, dynamic: ['10.96.1.1', '10.96.255.254'] },
  { cidr: '127.64.0.0/16', usable: 65534, dynamic: ['127.64.1.1', '127.64.255.254'] },
  { cidr: '10.0.0.0/8', usable: 2 ** 24 - 2, dynamic: ['10.0.1.1', '10.255.255.254'] },
  { cidr: 'fd00::/112', usable: 65535, dynamic: ['fd00::101', 'fd00::ffff'] },
  { cidr: 'fd00::/124', usable: 15, dynamic: ['fd00::1', 'fd00::f'] },
] as const;

for (const { cidr, usable, dynamic } of bands) {
  test(`${cidr} allocates ${dynamic.join(' to ')} first`, () => {
    const pool = new AddressPool(cidr);
    assert.equal(pool.free, usable);
    assert.deepEqual([pool.allocateNext(least), pool.allocateNext(greatest)], dynamic);
    assert.equal(pool.used, 2);
    assert.equal(pool.free, usable - 2);
  });
}

test('allocates from the static band only when the rest is full', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })), (choices) => {
      const pool = new AddressPool('10.0.0.0/24');
      const random = (): number => choices.pop() ?? 0.5;
      const taken = Array.from({ length: 254 }, () => Number(pool.allocateNext(random)?.split('.')[3]));
      const numbers = (from: number, to: number): number[] =>
        Array.from({ length: to - from + 1 }, (_, index) => from + index);
      assert.deepEqual(
        taken.slice(0, 238).toSorted((a, b) => a - b),
        numbers(17, 254),
      );
      assert.deepEqual(
        taken.slice(238).toSorted((a, b) => a - b),
        numbers(1, 16),
      );
      assert.equal(pool.allocateNext(random), undefined);
      assert.equal(pool.free, 0);
    }),
    { numRuns: 30 },
  );
});

const claims = [
  { name: 'an address of the static band', cidr: '10.0.0.0/24', ip: '10.0.0.1', usable: true },
  { name: 'the last address', cidr: '10.0.0.0/24', ip: '10.0.0.254', usable: true },
  { name: 'the network address', cidr: '10.0.0.0/24', ip: '10.0.0.0', usable: false },
  { name: 'the broadcast address', cidr: '10.0.0.0/24', ip: '10.0.0.255', usable: false },
  { name: 'an address of the next network', cidr: '10.0.0.0/24', ip: '10.0.1.1', usable: false },
  { name: 'an address of the network before', cidr: '10.0.1.0/24', ip: '10.0.0.254', usable: false },
  { name: 'an address of the other family', cidr: '10.0.0.0/24', ip: 'fd00::1', usable: false },
  { name: 'a name', cidr: '10.0.0.0/24', ip: 'web', usable: false },
  { name: 'the first IPv6 address', cidr: 'fd00::/64', ip: 'fd00::1', usable: true },
  { name: 'the last IPv6 address', cidr: 'fd00::/64', ip: 'fd00::ffff:ffff:ffff:ffff', usable: true },
  { name: 'the one before', cidr: 'fd00::/64', ip: 'fd00::ffff:ffff:ffff:fffe', usable: true },
  { name: 'the IPv6 network address', cidr: 'fd00::/64', ip: 'fd00::', usable: false },
  { name: 'an address of the next IPv6 network', cidr: 'fd00::/64', ip: 'fd00:0:0:1::1', usable: false },
] as const;

for (const { name, cidr, ip, usable } of claims) {
  test(`${name} can${usable ? '' : 'not'} be allocated`, () => {
    const pool = new AddressPool(cidr);
    const free = pool.free;
    assert.equal(pool.contains(ip), usable);
    assert.equal(pool.allocate(ip), usable);
    assert.equal(pool.has(ip), usable);
    assert.equal(pool.allocate(ip), false);
    assert.equal(pool.used, usable ? 1 : 0);
    assert.equal(pool.release(ip), usable);
    assert.equal(pool.release(ip), false);
    assert.equal(pool.free, free);
  });
}

test('never allocates the ends of a range', () => {
  const pool = new AddressPool('10.0.0.77/24');
  assert.equal(pool.cidr, '10.0.0.0/24');
  assert.equal(pool.networkAddress, '10.0.0.0');
  assert.deepEqual(
    ['10.0.0.0', '10.0.0.255', '10.0.1.0', 'web'].map((ip) => pool.contains(ip)),
    [false, false, false, false],
  );
});

const refused = [
  { cidr: '10.0.0.0', want: /"10.0.0.0" is not a CIDR/ },
  { cidr: '10.0.0.0/31', want: /the prefix length for IPv4 is 8 to 30/ },
  { cidr: '0.0.0.0/0', want: /the prefix length for IPv4 is 8 to 30/ },
  { cidr: 'fd00::/63', want: /the prefix length for IPv6 is 64 to 127/ },
  { cidr: 'fd00::/128', want: /the prefix length for IPv6 is 64 to 127/ },
];

for (const { cidr, want } of refused) {
  test(`${cidr} is rejected as a range`, () => {
    assert.throws(() => new AddressPool(cidr), want);
  });
}
