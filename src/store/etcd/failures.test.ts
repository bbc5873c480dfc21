import assert from 'node:assert/strict';
import { test } from 'node:test';

import { reasonOf } from './failures.ts';

const noConnection = (cause: string): Error =>
  Object.assign(new Error('14 UNAVAILABLE'), { details: `No connection established. Last error: ${cause}` });
const alert = (text: string): Error =>
  noConnection(
    `Error: 4003109D037F0000:error:0A000412:SSL routines:ssl3_read_bytes:ssl/tls alert ${text}:../deps/x.c:918:SSL alert number 42\n (2026-11-19T20:36:19.014Z)`,
  );
const time = '(2026-11-19T20:36:19.014Z)';

const cases: readonly (readonly [error: Error, reason: string])[] = [
  [noConnection(`Error: connect ECONNREFUSED 127.0.0.1:1 ${time}`), 'connect ECONNREFUSED 127.0.0.1:1'],
  [
    alert('bad certificate'),
    'etcd requires another client certificate than --etcd-certfile (TLS alert "bad certificate")',
  ],
  [alert('unknown ca'), 'etcd requires another client certificate than --etcd-certfile (TLS alert "unknown ca")'],
  [
    noConnection('unable to verify the first certificate; if the root CA is installed locally, try Node.js'),
    'no authority of --etcd-cafile has signed the certificate of the member: unable to verify the first certificate',
  ],
  [
    noConnection(`Failed to connect ${time}`),
    'the member closed the connection: if it uses TLS, its URL needs https://',
  ],
  [
    noConnection('Error: Client network socket disconnected before secure TLS connection was established'),
    'the member does not use TLS: its URL needs http://',
  ],
  [
    Object.assign(new Error('7 PERMISSION_DENIED: etcdserver: permission denied'), {
      details: 'etcdserver: permission denied',
    }),
    'etcd rejects the credentials of this server: etcdserver: permission denied',
  ],
  [new Error('the watch ended'), 'the watch ended'],
];

for (const [error, reason] of cases) {
  test(`reports ${reason}`, () => assert.equal(reasonOf(error), reason));
}
