import assert from 'node:assert/strict';
import { test } from 'node:test';

import { readRequest } from './pkcs10.ts';
import { aliceCertificate, aliceRequest, masterRequest, nodeRequest, rsaRequest } from './testing/requests.ts';

for (const [name, pem, want] of [
  ['Ed25519', aliceRequest, ['team']],
  ['ECDSA', nodeRequest, ['system:nodes']],
  ['RSA', rsaRequest, []],
  ['text around the block', `# request\n${masterRequest}# end`, ['system:masters']],
] as const) {
  test(`reads a request: ${name}`, () => assert.deepEqual(readRequest(pem).organizations, want));
}

/** The request with a part of its content replaced. */
const swapped = (pem: string, from: string, to: string): string => {
  const [begin, base64, end] = pem.split(/(?<=REQUEST-----\n)|(?=-----END)/);
  const der = Buffer.from(base64 ?? '', 'base64')
    .toString('latin1')
    .replace(from, to);
  return [begin, Buffer.from(der, 'latin1').toString('base64'), '\n', end].join('');
};

for (const { name, pem, want } of [
  { name: 'text without a block', pem: 'hello', want: 'PEM block type must be CERTIFICATE REQUEST' },
  {
    name: 'a block without an end',
    pem: aliceRequest.slice(0, 80),
    want: 'PEM block type must be CERTIFICATE REQUEST',
  },
  { name: 'a certificate', pem: aliceCertificate, want: 'PEM block type must be CERTIFICATE REQUEST' },
  {
    name: 'an empty block',
    pem: '-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n',
    want: 'asn1: syntax error: sequence truncated',
  },
  {
    name: 'a truncated request',
    pem: aliceRequest.replace(/\n.*(?=\n-----END)/, ''),
    want: 'asn1: syntax error: data truncated',
  },
  {
    name: 'a changed subject, Ed25519',
    pem: swapped(aliceRequest, 'alice', 'admin'),
    want: 'x509: Ed25519 verification failure',
  },
  {
    name: 'a changed subject, ECDSA',
    pem: swapped(nodeRequest, 'system:nodes', 'system:NODES'),
    want: 'x509: ECDSA verification failure',
  },
  {
    name: 'a changed subject, RSA',
    pem: swapped(rsaRequest, '\x01r', '\x01s'),
    want: 'crypto/rsa: verification error',
  },
]) {
  test(`rejects ${name}`, () => assert.throws(() => readRequest(pem), { message: want }));
}

test('reads the same from a damaged request, or rejects it with an error', () => {
  for (const pem of [aliceRequest, nodeRequest, rsaRequest]) {
    const want = readRequest(pem);
    const [begin, base64, end] = pem.split(/(?<=REQUEST-----\n)|(?=-----END)/);
    const der = Buffer.from(base64 ?? '', 'base64');
    for (let index = 0; index < der.length; index++) {
      for (const value of [0x00, 0x80, 0xff]) {
        const damaged = Buffer.from(der);
        damaged[index] = value;
        assert.deepEqual(
          outcomeOf(`${begin}${damaged.toString('base64')}\n${end}`) ?? want,
          want,
          `${index}: ${value}`,
        );
      }
    }
  }
});

/** What is read of a request; undefined if it is rejected. */
function outcomeOf(pem: string): unknown {
  try {
    return readRequest(pem);
  } catch (error) {
    assert.ok(error instanceof Error && /^(asn1|x509|crypto\/rsa): /.test(error.message), String(error));
    return undefined;
  }
}
