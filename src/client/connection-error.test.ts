import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure } from '../api/errors.ts';
import { KubeconfigError } from './errors.ts';
import { connectionReason, isUnusableServer } from './connection-error.ts';

const withCode = (code: string, message: string): Error => Object.assign(new Error(message), { code });

const rows: readonly (readonly [error: unknown, isUnusable: boolean, reason: string])[] = [
  [withCode('ECONNREFUSED', 'connect ECONNREFUSED 192.0.2.1:6443'), true, 'connect ECONNREFUSED 192.0.2.1:6443'],
  [
    withCode('ENETUNREACH', 'connect ENETUNREACH 192.0.2.1:6443 - Local (0.0.0.0:0)'),
    true,
    'connect ENETUNREACH 192.0.2.1:6443',
  ],
  [withCode('ECONNRESET', ''), true, 'ECONNRESET'],
  [
    withCode('EAI_AGAIN', 'getaddrinfo EAI_AGAIN api.example.org'),
    true,
    'its host name cannot be resolved (getaddrinfo EAI_AGAIN api.example.org)',
  ],
  [
    withCode('SELF_SIGNED_CERT_IN_CHAIN', 'self-signed certificate in certificate chain'),
    true,
    'its certificate is not trusted (self-signed certificate in certificate chain): check certificate-authority and server',
  ],
  [failure({ code: 401, reason: 'Unauthorized', message: 'Unauthorized' }), true, 'it rejects the credentials (401)'],
  [new DOMException('no response within 5 ms', 'TimeoutError'), true, 'no response within 5 ms'],
  [failure({ code: 403, reason: 'Forbidden', message: 'forbidden: no' }), false, 'forbidden: no'],
  [new KubeconfigError('there is no context "west"'), true, 'there is no context "west"'],
  [withCode('ERR_INVALID_ARG_TYPE', 'a bug'), false, 'a bug'],
];
for (const [error, isUnusable, reason] of rows) {
  test(`the server ${isUnusable ? 'cannot' : 'can'} be used after: ${reason}`, () => {
    assert.deepEqual([isUnusableServer(error), connectionReason(error)], [isUnusable, reason]);
  });
}
