import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';

import { canonicalAddress } from '../../api/addresses.ts';
import { dashed } from '../../api/addresses.ts';
import { canonical, reverseName, reverseZones, undashed } from './addresses.ts';
import { isWithin } from '../../dnswire/name.ts';

describe('addresses as labels', () => {
  const table = [
    { address: '10.1.2.3', label: '10-1-2-3', reverse: '3.2.1.10.in-addr.arpa' },
    {
      address: 'fd00:10::7',
      label: 'fd00-10--7',
      reverse: '7.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1.0.0.0.0.d.f.ip6.arpa',
    },
    {
      address: 'fd00:2::',
      label: 'fd00-2--0',
      reverse: `${'0.'.repeat(24)}2.0.0.0.0.0.d.f.ip6.arpa`,
    },
  ];
  for (const { address, label, reverse } of table) {
    it(address, () => {
      assert.equal(dashed(address), label);
      assert.equal(undashed(label), address);
      assert.equal(reverseName(address), reverse);
    });
  }

  for (const label of ['web', '10-1-2', '10-1-2-3-4', '256-1-1-1', '010-1-2-3', '--ffff-a00-1', 'x-10-1-2-3', '']) {
    it(`"${label}" is not an address`, () => assert.equal(undashed(label), undefined));
  }

  it('canonical() returns the same string for a canonical address', () => {
    assert.equal(canonical('10.0.0.1'), '10.0.0.1');
    assert.equal(canonical('FD00::0:1'), 'fd00::1');
    assert.equal(canonical('010.0.0.1'), '10.0.0.1');
    assert.equal(canonical('None'), undefined);
    assert.equal(canonical(''), undefined);
  });

  it('survive a round trip through a label', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const address = canonicalAddress(text);
        fc.pre(address !== undefined && !(text.includes(':') && !address.includes(':')));
        assert.equal(undashed(dashed(address ?? '')), address);
      }),
    );
  });
});

describe('reverseZones', () => {
  const table: readonly { readonly cidr: string; readonly want: readonly string[] | undefined }[] = [
    { cidr: '10.0.0.0/8', want: ['10.in-addr.arpa'] },
    { cidr: '10.96.0.0/16', want: ['96.10.in-addr.arpa'] },
    { cidr: '10.96.0.0/14', want: [96, 97, 98, 99].map((octet) => `${octet}.10.in-addr.arpa`) },
    { cidr: '192.0.2.6/31', want: ['6.2.0.192.in-addr.arpa', '7.2.0.192.in-addr.arpa'] },
    { cidr: '0.0.0.0/0', want: ['in-addr.arpa'] },
    { cidr: 'fd00::/8', want: ['d.f.ip6.arpa'] },
    { cidr: 'fd00:10::/30', want: [0, 1, 2, 3].map((nibble) => `${nibble}.1.0.0.0.0.d.f.ip6.arpa`) },
    { cidr: '::/0', want: ['ip6.arpa'] },
    { cidr: '10.0.0.0', want: undefined },
    { cidr: 'cluster.local', want: undefined },
  ];
  for (const { cidr, want } of table) it(cidr, () => assert.deepEqual(reverseZones(cidr), want));

  it('contain exactly the addresses of their CIDR', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.integer({ min: 1, max: 32 }), fc.ipV4(), (network, length, address) => {
        const bits = (text: string): number => text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
        const isInside =
          Math.floor(bits(network) / 2 ** (32 - length)) === Math.floor(bits(address) / 2 ** (32 - length));
        const zones = reverseZones(`${network}/${length}`) ?? [];
        assert.equal(
          zones.some((zone) => isWithin(reverseName(address), zone)),
          isInside,
        );
      }),
    );
  });
});
