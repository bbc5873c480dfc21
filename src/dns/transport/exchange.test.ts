import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { printAddress } from '../../api/addresses.ts';
import { concat } from '../../dnswire/record.ts';
import { askerBytes } from '../../dnswire/address.ts';
import { packAsk, packTold, printAddressBytes, unpackAsks, unpackTold } from './exchange.ts';

const bytes = fc.uint8Array({ maxLength: 300 });

test('questions and replies come out as they went in', () => {
  const ask = fc.record({
    token: fc.nat(0xffff_ffff),
    protocol: fc.constantFrom('udp' as const, 'tcp' as const),
    address: fc.ipV4().map((text) => ({ text, bytes: askerBytes(text) })),
    port: fc.nat(0xffff),
    query: bytes,
  });
  const told = fc
    .tuple(fc.nat(0xffff_ffff), fc.option(bytes, { nil: undefined }), fc.boolean())
    .map(([token, message, isLast]) => ({ token, message, isLast }));
  const property = fc.property(fc.array(ask), fc.array(told), (asks, tolds) => {
    const packed = asks.map((each) => packAsk(each.token, { ...each, address: each.address.bytes }, each.query));
    const want = asks.map(({ token, protocol, address, port, query }) => {
      return { token, asker: { address: address.text, port, protocol }, query };
    });
    assert.deepEqual([...unpackAsks(concat(packed))], want);
    assert.deepEqual([...unpackTold(concat(tolds.map(packTold)))], tolds);
  });
  fc.assert(property);
});

test('addresses are printed as the rest of the program prints them', () => {
  const zeros = fc.oneof(fc.constant(0), fc.nat(255));
  fc.assert(
    fc.property(fc.array(zeros, { minLength: 16, maxLength: 16 }), (list) => {
      // Ten zeros and two full bytes are an IPv4 address, which is printed as one.
      if (list[10] === 0xff && list[11] === 0xff) return;
      const value = list.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
      assert.equal(printAddressBytes(Uint8Array.from(list)), printAddress('IPv6', value));
    }),
  );
  assert.equal(printAddressBytes(Uint8Array.from([...Array(10).fill(0), 255, 255, 192, 0, 2, 1])), '192.0.2.1');
});
