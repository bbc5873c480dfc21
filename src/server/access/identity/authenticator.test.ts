import assert from 'node:assert/strict';
import { test } from 'node:test';

import { bearerToken, protocolToken } from './authenticator.ts';

const headers: readonly (readonly [header: string | undefined, token: string | undefined])[] = [
  [undefined, undefined],
  ['', undefined],
  ['Bearer abc', 'abc'],
  ['bearer abc', 'abc'],
  ['BEARER abc', 'abc'],
  ['  Bearer abc  ', 'abc'],
  ['Bearer abc def', 'abc'], // as Kubernetes reads it
  ['Bearer', undefined],
  ['Bearer ', undefined],
  ['Bearer  abc', undefined],
  ['Bearerabc', undefined],
  ['Basic YTpi', undefined],
  ['abc', undefined],
];
for (const [header, token] of headers) {
  test(`Authorization: ${header ?? '(none)'} is ${token ?? 'no token'}`, () =>
    assert.equal(bearerToken(header), token));
}

const protocols: readonly (readonly [header: string | undefined, token: string | undefined])[] = [
  [undefined, undefined],
  ['v5.channel.k8s.io', undefined],
  ['base64url.bearer.authorization.k8s.io.YWJj', 'abc'],
  ['v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.YWJj', 'abc'],
  ['base64url.bearer.authorization.k8s.io.', undefined],
  ['base64url.bearer.authorization.k8s.io.Y+==', undefined],
];
for (const [header, token] of protocols) {
  test(`subprotocol ${header ?? '(none)'} is ${token ?? 'no token'}`, () => assert.equal(protocolToken(header), token));
}
