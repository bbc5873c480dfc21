import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as fc from 'fast-check';

import type { IpFamily } from '../../../api/addresses.ts';
import { bitsOf, contains, parseCidr, printAddress } from '../../../api/addresses.ts';
import type { Step } from './filter.ts';
import { codes, filterSteps, networkHeader } from './filter.ts';

/** What the kernel would do with a packet from a source: whether it is kept. */
function keeps(steps: readonly Step[], family: IpFamily, source: bigint): boolean {
  let word = 0;
  for (let at = 0; at < steps.length; at++) {
    const { code, number, jumpIf = 0, jumpElse = 0 } = steps[at] ?? { code: codes.return, number: 0 };
    if (code === codes.return) return number !== 0;
    if (code === codes.jump) at += number;
    else if (code === codes.and) word = (word & number) >>> 0;
    else if (code === codes.jumpEqual) at += word === number ? jumpIf : jumpElse;
    else {
      const offset = number - networkHeader - (family === 'IPv4' ? 12 : 8);
      word = Number((source >> BigInt(bitsOf(family) - 8 * offset - 32)) & 0xffff_ffffn);
    }
  }
  throw new Error('it ran over its end');
}

test('accepts sources in a range of each list only', () => {
  const family = fc.constantFrom('IPv4', 'IPv6');
  // Few bits that differ, so that sources are in ranges and beside them.
  const address = (of: IpFamily): fc.Arbitrary<bigint> =>
    fc
      .tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: bitsOf(of) - 2 }))
      .map(([bits, shift]) => BigInt(bits) << BigInt(shift));
  const given = family.chain((of) => {
    const range = fc
      .tuple(address(of), fc.integer({ min: 0, max: bitsOf(of) }))
      .map(([value, length]) => `${printAddress(of, value)}/${length}`);
    const allowed = fc.array(fc.array(range, { maxLength: 40 }), { maxLength: 2 });
    return fc.record({ of: fc.constant(of), allowed, source: address(of) });
  });
  fc.assert(
    fc.property(given, ({ of, allowed, source }) => {
      const isIn = (text: string): boolean => {
        const cidr = parseCidr(text);
        return cidr !== undefined && contains(cidr, { family: of, value: source });
      };
      assert.equal(
        keeps(filterSteps(allowed, of), of, source),
        allowed.every((ranges) => ranges.some(isIn)),
      );
    }),
  );
});

test('ignores ranges of another family', () => {
  assert.equal(keeps(filterSteps([['2001:db8::/32']], 'IPv4'), 'IPv4', 1n), false);
  assert.equal(keeps(filterSteps([['2001:db8::/32', '0.0.0.0/0']], 'IPv4'), 'IPv4', 1n), true);
});
