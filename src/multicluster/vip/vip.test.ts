import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { IpFamily } from '../../api/addresses.ts';
import { contains, parseAddress, parseCidr } from '../../api/addresses.ts';
import { Ledger } from './ledger.ts';
import { poolOf } from './pool.ts';

const v4: readonly IpFamily[] = ['IPv4'];
const both: readonly IpFamily[] = ['IPv4', 'IPv6'];

function ipsOf(ledger: Ledger, key: string, families = v4): readonly string[] {
  const vip = ledger.reserve(key, families);
  assert.equal(vip.state, 'reserved');
  return vip.state === 'reserved' ? vip.ips : [];
}

describe('supercluster IPs', () => {
  test('MCS-40 a service gets an address of its range, the same one each time it asks', () => {
    const ledger = new Ledger(poolOf(['241.0.0.0/24']));
    const [ip = ''] = ipsOf(ledger, 'shop/web');
    const [cidr, address] = [parseCidr('241.0.0.0/24'), parseAddress(ip)];
    assert.ok(cidr && address && contains(cidr, address));
    assert.notEqual(ip, '241.0.0.0');
    assert.notEqual(ip, '241.0.0.255');
    assert.deepEqual(ipsOf(ledger, 'shop/web'), [ip]);
  });

  test('MCS-41 one ledger for all clusters gives one address, one a cluster gives each its own', () => {
    const east = new Ledger(poolOf(['127.128.0.0/16']));
    const west = new Ledger(poolOf(['127.129.0.0/16']));
    assert.notDeepEqual(ipsOf(east, 'shop/web'), ipsOf(west, 'shop/web'));
    const all = new Ledger(poolOf(['241.0.0.0/8']));
    assert.deepEqual(ipsOf(all, 'shop/web'), ipsOf(all, 'shop/web'));
  });

  test('MCS-44 two controllers that know nothing of each other choose the same address', () => {
    const [one, other] = [new Ledger(poolOf(['241.0.0.0/8'])), new Ledger(poolOf(['241.0.0.0/8']))];
    assert.deepEqual(ipsOf(one, 'shop/web'), ipsOf(other, 'shop/web'));
  });

  test('MCS-44 an address outlives a restart, even one that is outside the range by now', () => {
    const ledger = new Ledger(poolOf(['241.0.0.0/24']));
    assert.deepEqual(ledger.adopt([{ key: 'shop/web', ips: ['10.9.8.7'], since: '2026-01-01T00:00:00Z' }]), []);
    assert.deepEqual(ipsOf(ledger, 'shop/web'), ['10.9.8.7']);
  });

  test('MCS-44 of two imports that claim one address the older keeps it, whatever the order they are read in', () => {
    const older = { key: 'b/b', ips: ['241.0.0.7'], since: '2026-01-01T00:00:00Z' };
    const newer = { key: 'a/a', ips: ['241.0.0.7'], since: '2026-01-02T00:00:00Z' };
    for (const claims of [
      [older, newer],
      [newer, older],
    ]) {
      const ledger = new Ledger(poolOf(['241.0.0.0/24']));
      assert.deepEqual(ledger.adopt(claims), [newer]);
      assert.deepEqual(ipsOf(ledger, 'b/b'), ['241.0.0.7']);
      assert.notDeepEqual(ipsOf(ledger, 'a/a'), ['241.0.0.7']);
    }
  });

  test('MCS-44 an address somebody else has is not handed out, and one that was released is again', () => {
    const ledger = new Ledger(poolOf(['241.0.0.0/30']), { isTakenByOthers: (ip) => ip === '241.0.0.1' });
    assert.deepEqual(ipsOf(ledger, 'shop/web'), ['241.0.0.2']);
    assert.equal(ledger.reserve('shop/cart', v4).state, 'exhausted');
    ledger.release('shop/web');
    assert.deepEqual(ipsOf(ledger, 'shop/cart'), ['241.0.0.2']);
  });

  test('MCS-45 a full pool says so, leaves others alone, and gives an address once one is free', () => {
    const ledger = new Ledger(poolOf(['241.0.0.0/31']));
    const [first, second] = [ipsOf(ledger, 'a/a'), ipsOf(ledger, 'b/b')];
    assert.deepEqual(ledger.reserve('c/c', v4), {
      state: 'exhausted',
      family: 'IPv4',
      message: 'all 2 supercluster IPs of family IPv4 are in use: widen the range, or withdraw a service',
    });
    assert.deepEqual([ipsOf(ledger, 'a/a'), ipsOf(ledger, 'b/b')], [first, second]);
    ledger.release('a/a');
    assert.deepEqual(ipsOf(ledger, 'c/c'), first);
  });

  test('MCS-43 a dual-stack service has one address a family, in the order of its families', () => {
    const ledger = new Ledger(poolOf(['241.0.0.0/24', 'fd00:1::/112']));
    const ips = ipsOf(ledger, 'shop/web', both);
    assert.deepEqual(
      ips.map((ip) => parseAddress(ip)?.family),
      ['IPv4', 'IPv6'],
    );
    assert.deepEqual(ipsOf(ledger, 'shop/web', ['IPv6', 'IPv4']), ips.toReversed());
    assert.deepEqual(ipsOf(ledger, 'shop/web', ['IPv6']), [ips[1]]);
    assert.equal(ledger.isTaken(ips[0] ?? ''), false);
  });

  test('a preview says what would be given, and changes nothing', () => {
    const ledger = new Ledger(poolOf(['241.0.0.0/24', 'fd00:1::/112']));
    const preview = ledger.preview('shop/web', v4);
    assert.equal(ledger.holds('shop/web'), false);
    assert.deepEqual(ledger.reserve('shop/web', v4), preview);
    assert.equal(ledger.preview('shop/web', ['IPv6']).state, 'reserved');
    assert.deepEqual(ledger.reserve('shop/web', v4), preview);
  });

  test('a family without a range is left out, and it is said when none is left', () => {
    const ledger = new Ledger(poolOf(['241.0.0.0/24']));
    assert.equal(ipsOf(ledger, 'shop/web', both).length, 1);
    assert.deepEqual(ledger.reserve('shop/six', ['IPv6']), {
      state: 'unsupported',
      message: 'there is no supercluster IP range of family IPv6',
    });
  });

  for (const [cidrs, error] of [
    [['241.0.0.0'], /"241.0.0.0" is no CIDR/],
    [['10.0.0.0/8', '10.1.0.0/16'], /overlap at 10.1.0.1/],
  ] as const) {
    test(`refuses the ranges ${cidrs.join(' and ')}`, () => assert.throws(() => poolOf(cidrs), error));
  }

  test('no address is ever held twice, and a held one never changes', () => {
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
        const ledger = new Ledger(poolOf(['241.0.0.0/29', 'fd00::/125']));
        const held = new Map<string, readonly string[]>();
        for (const each of steps) {
          if (each.do === 'release') {
            ledger.release(each.key);
            held.delete(each.key);
          } else if (each.do === 'adopt') {
            ledger.adopt([{ key: each.key, ips: [each.ip], since: '' }]);
          } else {
            const vip = ledger.reserve(each.key, each.families);
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
