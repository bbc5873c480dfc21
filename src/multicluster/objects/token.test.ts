import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimsOf, lifetimeSeconds, renewAtMs } from './token.ts';

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const owner = { namespace: 'ns', serviceaccount: { name: 'sa' } };

test('a token is renewed after 70 % of its lifetime, for as long again', () => {
  const claims = { issuedAtMs: 0, expiresAtMs: 3_600_000, namespace: 'ns', account: 'sa' };
  assert.equal(renewAtMs(claims), 2_520_000);
  assert.equal(lifetimeSeconds(claims), 3600);
});

test('no less than ten minutes are requested, which servers would reject', () => {
  assert.equal(lifetimeSeconds({ issuedAtMs: 0, expiresAtMs: 30_000, namespace: 'ns', account: 'sa' }), 600);
});

for (const [name, token] of [
  ['no token', undefined],
  ['text', 'secret'],
  ['parts that are no JSON', 'a.b.c'],
  ['JSON that is no object', `a.${encoded(null)}.c`],
  ['a token that does not expire', `a.${encoded({ iat: 1, 'kubernetes.io': owner })}.c`],
  ['a token of a person', `a.${encoded({ iat: 1, exp: 2, sub: 'jane' })}.c`],
  ['times that are text', `a.${encoded({ iat: '1', exp: '2', 'kubernetes.io': owner })}.c`],
] as const) {
  test(`nothing is renewed for ${name}`, () => assert.equal(claimsOf(token), undefined));
}
