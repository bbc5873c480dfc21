import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { addressBytes, addressText, clientAddressBytes } from './address.ts';

const cases: readonly { readonly text: string; readonly want: string | undefined }[] = [
  { text: '10.0.0.1', want: '0a000001' },
  { text: '255.255.255.255', want: 'ffffffff' },
  { text: 'fd00:1::1', want: 'fd000001000000000000000000000001' },
  { text: '::', want: '0'.repeat(32) },
  { text: '::ffff:10.0.0.1', want: '0a000001' },
  { text: '::1.2.3.4', want: '00000000000000000000000001020304' },
  { text: '64:ff9b::192.0.2.1', want: '0064ff9b0000000000000000c0000201' },
  { text: 'fe80::1%eth0', want: undefined },
  { text: ':::', want: undefined },
  { text: '256.0.0.1', want: undefined },
  { text: '1.2.3', want: undefined },
  { text: '1.2.3.4.5', want: undefined },
  { text: '1..2.3', want: undefined },
  { text: '1.2.3.', want: undefined },
  { text: '', want: undefined },
  { text: 'web', want: undefined },
];
for (const { text, want } of cases) {
  test(`the bytes of "${text}": ${want ?? 'none'}`, () => {
    const bytes = addressBytes(text);
    assert.equal(bytes && Buffer.from(bytes).toString('hex'), want);
  });
}

test('every IPv4 address survives a round trip', () => {
  fc.assert(fc.property(fc.ipV4(), (text) => assert.equal(addressBytes(text)?.join('.'), text)));
});

test('ignores the interface of a client address', () => {
  assert.deepEqual(clientAddressBytes('fe80::1%eth0'), addressBytes('fe80::1'));
  assert.throws(() => clientAddressBytes('nobody'), /bug: a query from "nobody"/);
});

test('addressText returns the canonical form', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(0, 0, 0, 1, 0xab, 255), { minLength: 16, maxLength: 16 }), (numbers) => {
      const bytes = Uint8Array.from(numbers);
      if (numbers[10] === 0xff && numbers[11] === 0xff) return;
      const text = addressText(bytes);
      assert.equal(new URL(`http://[${text}]`).hostname, `[${text}]`);
      assert.deepEqual(addressBytes(text), bytes);
    }),
  );
  fc.assert(fc.property(fc.ipV4(), (text) => assert.equal(addressText(addressBytes(text) ?? assert.fail()), text)));
  assert.equal(addressText(Uint8Array.from([...Array(10).fill(0), 255, 255, 192, 0, 2, 1])), '192.0.2.1');
});
