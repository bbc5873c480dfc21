import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { IpFamily } from '../../api/addresses.ts';
import { contains, parseAddress, parseCidr } from '../../api/addresses.ts';
import { AddressAllocator } from './allocator.ts';
import { poolOf } from './pool.ts';

const v4: readonly IpFamily[] = ['IPv4'];
const both: readonly IpFamily[] = ['IPv4', 'IPv6'];

function ipsOf(allocator: AddressAllocator, key: string, families = v4): readonly string[] {
  const vip = allocator.reserve(key, families);
  assert.equal(vip.state, 'reserved');
  return vip.state === 'reserved' ? vip.ips : [];
}

describe('supercluster IPs', () => {
  test('MCS-40 allocates an address from the range, and returns the same one on every call', () => {
    const allocator = new AddressAllocator(poolOf(['241.0.0.0/24']));
    const [ip = ''] = ipsOf(allocator, 'shop/web');
    const [cidr, address] = [parseCidr('241.0.0.0/24'), parseAddress(ip)];
    assert.ok(cidr && address && contains(cidr, address));
    assert.notEqual(ip, '241.0.0.0');
    assert.notEqual(ip, '241.0.0.255');
    assert.deepEqual(ipsOf(allocator, 'shop/web'), [ip]);
  });

  test('MCS-41 a shared allocator gives one address for all clusters, separate allocators give one per cluster', () => {
    const east = new AddressAllocator(poolOf(['127.128.0.0/16']));
    const west = new AddressAllocator(poolOf(['127.129.0.0/16']));
    assert.notDeepEqual(ipsOf(east, 'shop/web'), ipsOf(west, 'shop/web'));
    const all = new AddressAllocator(poolOf(['241.0.0.0/8']));
    assert.deepEqual(ipsOf(all, 'shop/web'), ipsOf(all, 'shop/web'));
  });

  test('MCS-44 independent allocators choose the same address', () => {
    const [one, other] = [new AddressAllocator(poolOf(['241.0.0.0/8'])), new AddressAllocator(poolOf(['241.0.0.0/8']))];
    assert.deepEqual(ipsOf(one, 'shop/web'), ipsOf(other, 'shop/web'));
  });

  test('MCS-44 keeps an adopted address, also outside the current range', () => {
    const allocator = new AddressAllocator(poolOf(['241.0.0.0/24']));
    assert.deepEqual(allocator.adopt([{ key: 'shop/web', ips: ['10.9.8.7'], since: '2026-01-01T00:00:00Z' }]), []);
    assert.deepEqual(ipsOf(allocator, 'shop/web'), ['10.9.8.7']);
  });

  test('MCS-44 of two imports that claim one address the older keeps it, in any read order', () => {
    const older = { key: 'b/b', ips: ['241.0.0.7'], since: '2026-01-01T00:00:00Z' };
    const newer = { key: 'a/a', ips: ['241.0.0.7'], since: '2026-01-02T00:00:00Z' };
    for (const claims of [
      [older, newer],
      [newer, older],
    ]) {
      const allocator = new AddressAllocator(poolOf(['241.0.0.0/24']));
      assert.deepEqual(allocator.adopt(claims), [newer]);
      assert.deepEqual(ipsOf(allocator, 'b/b'), ['241.0.0.7']);
      assert.notDeepEqual(ipsOf(allocator, 'a/a'), ['241.0.0.7']);
    }
  });

  test('MCS-44 skips an address in use elsewhere, and reuses a released one', () => {
    const allocator = new AddressAllocator(poolOf(['241.0.0.0/30']), { isInUse: (ip) => ip === '241.0.0.1' });
    assert.deepEqual(ipsOf(allocator, 'shop/web'), ['241.0.0.2']);
    assert.equal(allocator.reserve('shop/cart', v4).state, 'exhausted');
    allocator.release('shop/web');
    assert.deepEqual(ipsOf(allocator, 'shop/cart'), ['241.0.0.2']);
  });

  test('MCS-45 reports exhaustion, keeps other allocations, and allocates once an address is free', () => {
    const allocator = new AddressAllocator(poolOf(['241.0.0.0/31']));
    const [first, second] = [ipsOf(allocator, 'a/a'), ipsOf(allocator, 'b/b')];
    assert.deepEqual(allocator.reserve('c/c', v4), {
      state: 'exhausted',
      family: 'IPv4',
      message: 'all 2 supercluster IPs of family IPv4 are in use: widen the range, or withdraw a service',
    });
    assert.deepEqual([ipsOf(allocator, 'a/a'), ipsOf(allocator, 'b/b')], [first, second]);
    allocator.release('a/a');
    assert.deepEqual(ipsOf(allocator, 'c/c'), first);
  });

  test('MCS-43 allocates one address per family, in the order of the families', () => {
    const allocator = new AddressAllocator(poolOf(['241.0.0.0/24', 'fd00:1::/112']));
    const ips = ipsOf(allocator, 'shop/web', both);
    assert.deepEqual(
      ips.map((ip) => parseAddress(ip)?.family),
      ['IPv4', 'IPv6'],
    );
    assert.deepEqual(ipsOf(allocator, 'shop/web', ['IPv6', 'IPv4']), ips.toReversed());
    assert.deepEqual(ipsOf(allocator, 'shop/web', ['IPv6']), [ips[1]]);
    assert.equal(allocator.isTaken(ips[0] ?? ''), false);
  });

  test('preview returns the next allocation without allocating', () => {
    const allocator = new AddressAllocator(poolOf(['241.0.0.0/24', 'fd00:1::/112']));
    const preview = allocator.preview('shop/web', v4);
    assert.equal(allocator.holds('shop/web'), false);
    assert.deepEqual(allocator.reserve('shop/web', v4), preview);
    assert.equal(allocator.preview('shop/web', ['IPv6']).state, 'reserved');
    assert.deepEqual(allocator.reserve('shop/web', v4), preview);
  });

  test('omits a family without a range, and reports when no family has one', () => {
    const allocator = new AddressAllocator(poolOf(['241.0.0.0/24']));
    assert.equal(ipsOf(allocator, 'shop/web', both).length, 1);
    assert.deepEqual(allocator.reserve('shop/six', ['IPv6']), {
      state: 'unsupported',
      message: 'there is no supercluster IP range of family IPv6',
    });
  });

  for (const [cidrs, error] of [
    [['241.0.0.0'], /"241.0.0.0" is not a CIDR/],
    [['10.0.0.0/8', '10.1.0.0/16'], /overlap at 10.1.0.1/],
  ] as const) {
    test(`refuses the ranges ${cidrs.join(' and ')}`, () => assert.throws(() => poolOf(cidrs), error));
  }

  test('never allocates an address twice or changes an allocated one', () => {
    const key = fc.integer({ min: 0, max: 12 }).map((number) => `ns/s${number}`);
    const step = fc.oneof(
      fc.record({ do: fc.constant('reserve' as const), key, families: fc.constantFrom(v4, both, ['IPv6'] as const) }),
      fc.record({ do: fc.constant('release' as const), key }),
      fc.record({
        do: fc.constant('adopt' as const),
        key,
        ip: fc.integer({ min: 1, max: 9 }).map((n) => `241.0.0.${n}`),
      }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const allocator = new AddressAllocator(poolOf(['241.0.0.0/29', 'fd00::/125']));
        const held = new Map<string, readonly string[]>();
        for (const each of steps) {
          if (each.do === 'release') {
            allocator.release(each.key);
            held.delete(each.key);
          } else if (each.do === 'adopt') {
            allocator.adopt([{ key: each.key, ips: [each.ip], since: '' }]);
          } else {
            const vip = allocator.reserve(each.key, each.families);
            if (vip.state !== 'reserved') continue;
            const before = held.get(each.key) ?? [];
            for (const ip of before) {
              const family = parseAddress(ip)?.family;
              if (family && each.families.some((wanted) => wanted === family)) assert.ok(vip.ips.includes(ip));
            }
            held.set(each.key, vip.ips);
          }
          const all = [...held.values()].flat();
          assert.equal(new Set(all).size, all.length);
        }
      }),
    );
  });
});
