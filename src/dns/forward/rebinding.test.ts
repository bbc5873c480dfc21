import assert from 'node:assert/strict';
import { test } from 'node:test';

import { extendedErrors, rcodes, types } from '../../dnswire/codes.ts';
import type { RawRecord } from '../../dnswire/record.ts';
import { encodeRecord } from '../../dnswire/record.ts';
import { withoutPrivateAddresses } from './rebinding.ts';
import { emptyAnswer } from '../resolver.ts';

const owner = 'www.example.org';
const address = (text: string): RawRecord => {
  const type = text.includes(':') ? ('AAAA' as const) : ('A' as const);
  const data = encodeRecord({ type, address: text }) ?? assert.fail();
  return { owner, type: types[type], class: 1, ttl: 60, data };
};
const answerOf = (...answers: RawRecord[]): ReturnType<typeof emptyAnswer> => ({
  ...emptyAnswer(rcodes.NOERROR),
  answers,
});

const refused = [
  '10.1.2.3',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '127.0.0.1',
  '127.255.0.9',
  '0.0.0.0',
  '169.254.169.254',
  '100.64.0.1',
  '::',
  '::1',
  '::10.0.0.1',
  'fc00::1',
  'fdff::1',
  'fe80::1',
  'fec0::1',
  '64:ff9b::a00:1',
  '2002:a00:1::1',
];
const accepted = [
  '192.0.2.1',
  '172.15.0.1',
  '172.32.0.1',
  '9.9.9.9',
  '2001:db8::1',
  '64:ff9b::c000:201',
  '2002:c000:201::1',
];

for (const text of refused) {
  test(`removes ${text}`, () => {
    const { answers, problem, rcode } = withoutPrivateAddresses(answerOf(address('192.0.2.1'), address(text)));
    assert.deepEqual(answers, [address('192.0.2.1')]);
    assert.equal(problem?.code, extendedErrors.BLOCKED);
    assert.equal(rcode, rcodes.NOERROR);
  });
}

for (const text of accepted) {
  test(`keeps ${text}`, () => {
    const answer = answerOf(address(text));
    assert.equal(withoutPrivateAddresses(answer), answer);
  });
}

test('removes an IPv4-mapped private address', () => {
  const data = Buffer.from('00000000000000000000ffff0a000001', 'hex');
  assert.deepEqual(withoutPrivateAddresses(answerOf({ ...address('2001:db8::1'), data })).answers, []);
});

const service = (hex: string): RawRecord => ({
  ...address('192.0.2.1'),
  type: types.HTTPS,
  data: Buffer.from(hex, 'hex'),
});
/** Priority 1, target `a.`, a parameter `port`, then the one given. */
const before = '0001016100' + '0003000201bb';

const services: readonly { readonly name: string; readonly hex: string; readonly isKept: boolean }[] = [
  { name: 'no hints', hex: before, isKept: true },
  { name: 'a public IPv4 hint', hex: `${before}00040004c0000201`, isKept: true },
  { name: 'a private IPv4 hint behind a public one', hex: `${before}00040008c00002010a000001`, isKept: false },
  { name: 'a loopback IPv6 hint', hex: `${before}00060010${'00'.repeat(15)}01`, isKept: false },
  { name: 'a length past the end', hex: `${before}000400ff0a000001`, isKept: false },
  { name: 'a target past the end', hex: '000140', isKept: true },
];
for (const { name, hex, isKept } of services) {
  test(`${isKept ? 'keeps' : 'removes'} an HTTPS record with ${name}`, () => {
    assert.equal(withoutPrivateAddresses(answerOf(service(hex))).answers.length, isKept ? 1 : 0);
  });
}

test('clears the AD flag of an answer that it changes', () => {
  assert.equal(withoutPrivateAddresses({ ...answerOf(address('10.0.0.1')), authentic: true }).authentic, undefined);
});
