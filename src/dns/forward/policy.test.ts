import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { ManualClock } from '../../client/testing/clocks.ts';
import { defaultAllowed, RecursionPolicy } from './policy.ts';

suite('isAllowed', () => {
  const table: readonly { name: string; allow: readonly string[]; from: string; want: boolean }[] = [
    { name: 'this machine', allow: defaultAllowed([], []), from: '127.0.0.1', want: true },
    { name: 'this machine over IPv6', allow: defaultAllowed([], []), from: '::1', want: true },
    {
      name: 'this machine, IPv4-mapped',
      allow: defaultAllowed([], []),
      from: '::ffff:127.0.0.1',
      want: true,
    },
    { name: 'a Pod if ranges are unknown', allow: defaultAllowed([], []), from: '10.244.1.7', want: true },
    { name: 'a link-local neighbour', allow: defaultAllowed([], []), from: 'fe80::1%eth0', want: true },
    { name: 'a public address', allow: defaultAllowed([], []), from: '203.0.113.9', want: false },
    { name: 'a public IPv6 address', allow: defaultAllowed([], []), from: '2001:db8::9', want: false },
    {
      name: 'a Pod if ranges are known',
      allow: defaultAllowed(['10.244.0.0/16'], []),
      from: '10.244.1.7',
      want: true,
    },
    {
      name: 'no other private address if ranges are known',
      allow: defaultAllowed(['10.244.0.0/16'], []),
      from: '192.168.1.7',
      want: false,
    },
    {
      name: 'the node itself',
      allow: defaultAllowed(['10.244.0.0/16'], ['203.0.113.5']),
      from: '203.0.113.5',
      want: true,
    },
    {
      name: 'not its neighbours',
      allow: defaultAllowed(['10.244.0.0/16'], ['203.0.113.5']),
      from: '203.0.113.6',
      want: false,
    },
    { name: 'a single address', allow: ['198.51.100.7'], from: '198.51.100.7', want: true },
    { name: 'all addresses', allow: ['0.0.0.0/0', '::/0'], from: '203.0.113.9', want: true },
    { name: 'no address', allow: [], from: '127.0.0.1', want: false },
    { name: 'not an address', allow: ['0.0.0.0/0'], from: 'localhost', want: false },
  ];
  for (const { name, allow, from, want } of table) {
    test(name, () => assert.equal(new RecursionPolicy({ allow }).isAllowed(from), want));
  }

  test('rejects a malformed range by name', () => {
    assert.throws(() => new RecursionPolicy({ allow: ['10.0.0.0/40'] }), /"10\.0\.0\.0\/40" is not a range/);
  });
});

suite('rate limit', () => {
  const spends = (policy: RecursionPolicy, address: string, times: number): number =>
    Array.from({ length: times }, () => policy.spend(address)).filter(Boolean).length;

  test('allows a burst, then the rate, per client', async () => {
    const clock = new ManualClock();
    const policy = new RecursionPolicy({ allow: ['0.0.0.0/0'], perSecond: 10, burst: 20, clock });
    assert.equal(spends(policy, '10.0.0.1', 100), 20);
    assert.equal(spends(policy, '10.0.0.2', 5), 5);
    await clock.advance(1000);
    assert.equal(spends(policy, '10.0.0.1', 100), 10);
    await clock.advance(60_000);
    assert.equal(spends(policy, '10.0.0.1', 100), 20);
  });

  test('addresses of an IPv6 /64 share a limit', () => {
    const policy = new RecursionPolicy({ allow: ['::/0'], perSecond: 10, clock: new ManualClock() });
    assert.equal(
      spends(policy, '2001:db8::1', 8) + spends(policy, '2001:db8::2', 8) + spends(policy, '2001:db8::1', 8),
      10,
    );
    assert.equal(spends(policy, '2001:db8:0:1::1', 8), 8);
  });

  test('0 is no limit', () => {
    const policy = new RecursionPolicy({ allow: [], perSecond: 0 });
    assert.equal(spends(policy, '10.0.0.1', 5000), 5000);
  });

  test('bounds the number of tracked clients', () => {
    const policy = new RecursionPolicy({ allow: [], clients: 100 });
    for (let each = 0; each < 5000; each++) policy.spend(`10.1.${each >> 8}.${each & 255}`);
    assert.equal(policy.clients, 100);
  });
});
