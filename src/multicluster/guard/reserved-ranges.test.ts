import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import * as fc from 'fast-check';

import { contains, parseAddress, parseCidr, printAddress } from '../../api/addresses.ts';
import { addressProblem } from './addresses.ts';
import { endpointRangesOf } from './policy.ts';
import { reservedRangesOf } from './reserved-ranges.ts';

const reserved = reservedRangesOf([
  {
    id: 'east',
    endpointRanges: endpointRangesOf(['10.1.0.0/16', 'fd00:1::/64', '0.0.0.0/0']),
    serviceRanges: ['10.96.0.0/12', 'fd00:96::/112'],
    importRanges: ['241.0.0.0/16'],
  },
  { id: 'west', endpointRanges: undefined, serviceRanges: ['10.96.0.0/16', 'no range'], importRanges: [] },
]);

const rows: readonly (readonly [
  address: string,
  declared: readonly string[] | undefined,
  problem: string | undefined,
])[] = [
  ['10.2.0.1', undefined, undefined],
  ['10.1.0.1', undefined, 'is in 10.1.0.0/16, which is declared for endpoints of cluster east'],
  ['fd00:1::7', undefined, 'is in fd00:1::/64, which is declared for endpoints of cluster east'],
  ['10.97.0.1', undefined, 'is in 10.96.0.0/12, where cluster east has its Services'],
  ['10.96.0.1', undefined, 'is in 10.96.0.0/16, where cluster west has its Services'],
  ['fd00:96::1', undefined, 'is in fd00:96::/112, where cluster east has its Services'],
  ['::ffff:10.97.0.1', undefined, 'is in 10.96.0.0/12, where cluster east has its Services'],
  ['241.0.3.3', undefined, 'is in 241.0.0.0/16, where imports into cluster east have their addresses'],
  ['127.0.0.1', undefined, 'cannot be in another cluster'],
  ['169.254.169.254', undefined, 'cannot be in another cluster'],
  ['224.0.0.1', undefined, 'cannot be in another cluster'],
  // The smaller of two ranges decides; of two equal ranges the member's own.
  ['10.1.0.1', ['10.1.0.0/16'], undefined],
  ['10.1.0.1', ['10.1.0.0/24'], undefined],
  ['10.1.0.1', ['10.0.0.0/8'], 'is in 10.1.0.0/16, which is declared for endpoints of cluster east'],
  ['10.97.0.1', ['0.0.0.0/0'], 'is in 10.96.0.0/12, where cluster east has its Services'],
  ['10.97.0.1', ['10.97.0.0/16'], undefined],
  ['127.192.0.1', ['0.0.0.0/0'], undefined],
  ['10.2.0.1', ['10.3.0.0/16'], 'is outside the ranges declared for the cluster'],
];

suite('an endpoint where another member has addresses', () => {
  for (const [address, declared, problem] of rows) {
    test(`${address}${declared === undefined ? '' : ` of a cluster with ${declared.join()}`}`, () => {
      const ranges = { declared: declared && endpointRangesOf(declared), reserved };
      assert.equal(addressProblem(address, ranges), problem);
    });
  }
});

test('finds the smallest range, as a linear search does', () => {
  const cidr = fc
    .record({ host: fc.nat({ max: 0xffff }), length: fc.integer({ min: 16, max: 32 }) })
    .map(({ host, length }) => `10.9.${host >> 8}.${host & 255}/${length}`);
  fc.assert(
    fc.property(fc.array(cidr, { maxLength: 8 }), fc.nat({ max: 0xffff }), (cidrs, host) => {
      const ranges = reservedRangesOf([{ id: 'a', endpointRanges: undefined, serviceRanges: cidrs, importRanges: [] }]);
      const address = parseAddress(printAddress('IPv4', (10n << 24n) + (9n << 16n) + BigInt(host)));
      assert.ok(address);
      const lengths = cidrs.flatMap((text) => {
        const each = parseCidr(text);
        return each !== undefined && contains(each, address) ? [each.prefixLength] : [];
      });
      const want = lengths.length === 0 ? undefined : Math.max(...lengths);
      assert.equal(ranges.find(address)?.prefixLength, want);
    }),
  );
});

test('the key of ranges does not depend on the order of members', () => {
  const territory = (id: string, range: string) => ({
    id,
    endpointRanges: undefined,
    serviceRanges: [range],
    importRanges: [],
  });
  const [a, b] = [territory('a', '10.1.0.0/16'), territory('b', '10.2.0.0/16')];
  assert.equal(reservedRangesOf([a, b]).key, reservedRangesOf([b, a]).key);
  assert.notEqual(reservedRangesOf([a]).key, reservedRangesOf([a, b]).key);
});
