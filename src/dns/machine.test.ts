import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listenAddresses, machineAddresses, serverAddresses } from './machine.ts';

const at = (text: string): { readonly address: string; readonly port: number } => {
  const split = text.lastIndexOf(':');
  return { address: text.slice(0, split), port: Number(text.slice(split + 1)) };
};

const places: readonly { name: string; given: readonly string[]; hasIpv6?: false; want: readonly string[] }[] = [
  { name: 'one address', given: ['127.0.0.1:53'], want: ['127.0.0.1:53'] },
  { name: 'everything', given: [':::53'], want: ['0.0.0.0:53', ':::53'] },
  { name: 'everything on a machine without IPv6', given: [':::53'], hasIpv6: false, want: ['0.0.0.0:53'] },
  { name: 'everything on any port', given: [':::0'], want: ['0.0.0.0:0'] },
  { name: 'all IPv4', given: ['0.0.0.0:53'], want: ['0.0.0.0:53'] },
  { name: 'the same twice', given: ['0.0.0.0:53', ':::53'], want: ['0.0.0.0:53', ':::53'] },
  { name: 'any port twice', given: ['::1:0', '::1:0'], want: ['::1:0', '::1:0'] },
];
for (const { name, given, hasIpv6 = true, want } of places) {
  test(`listen addresses: ${name}`, () => {
    const got = listenAddresses(given.map(at), () => hasIpv6);
    assert.deepEqual(
      got.map(({ address, port }) => `${address}:${port}`),
      want,
    );
  });
}

test('serverAddresses returns the listen addresses, or all of the machine for a wildcard', () => {
  assert.deepEqual(serverAddresses([at('127.0.0.1:53'), at('127.0.0.1:54'), at('::1:53')]), ['127.0.0.1', '::1']);
  assert.deepEqual(serverAddresses([at(':::53')]), machineAddresses());
  assert.ok(machineAddresses().every((address) => !address.startsWith('127.') && address !== '::1'));
});
