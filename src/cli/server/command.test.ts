import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultAdvertiseAddress, machineAddresses } from './command.ts';

const all = machineAddresses([
  { address: '127.0.0.1', family: 'IPv4', internal: true },
  { address: 'fe80::1', family: 'IPv6', internal: false },
  { address: '2001:db8::5', family: 'IPv6', internal: false },
  { address: '192.0.2.5', family: 'IPv4', internal: false },
]);

const cases: readonly (readonly [bind: string, addresses: typeof all, want: string])[] = [
  ['127.0.0.1', all, '127.0.0.1'],
  ['192.0.2.7', all, '192.0.2.7'],
  ['0.0.0.0', all, '192.0.2.5'],
  ['::', all, '2001:db8::5'],
  ['0.0.0.0', [], '127.0.0.1'],
  ['::', [], '::1'],
];
for (const [bind, addresses, want] of cases) {
  test(`a server on ${bind} of a machine with ${addresses.length} addresses advertises ${want}`, () =>
    assert.equal(defaultAdvertiseAddress(bind, addresses), want));
}
