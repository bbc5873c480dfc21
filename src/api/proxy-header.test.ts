import assert from 'node:assert/strict';
import { test } from 'node:test';

import { proxyHeaderOf } from './proxy-header.ts';

const four = { source: '192.0.2.7', sourcePort: 40_001, address: '127.64.0.9', port: 80 };
const six = { source: '2001:db8::7', sourcePort: 40_001, address: '::1', port: 443 };

test('encodes version 1 as a line', () => {
  const line = (parties: typeof four): string => Buffer.from(proxyHeaderOf('v1', parties)).toString();
  assert.equal(line(four), 'PROXY TCP4 192.0.2.7 127.64.0.9 40001 80\r\n');
  assert.equal(line(six), 'PROXY TCP6 2001:db8::7 ::1 40001 443\r\n');
});

test('encodes version 2 as bytes', () => {
  const hex = (parties: typeof four): string => Buffer.from(proxyHeaderOf('v2', parties)).toString('hex');
  const signature = '0d0a0d0a000d0a515549540a';
  assert.equal(hex(four), `${signature}2111000cc00002077f4000099c410050`);
  assert.equal(hex(six), `${signature}2121002420010db8${'0'.repeat(22)}07${'0'.repeat(30)}019c4101bb`);
});
