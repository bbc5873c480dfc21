import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { PartialWrite, WriteContext } from '../../../kind.ts';
import { decode } from '../../../schema/decode.ts';
import { cells, createErrors, created, plainContext } from '../../testing/validation.ts';
import { certificateSigningRequestKind as kind } from './kind.ts';
import type { CertificateSigningRequest } from './schema.ts';
import { aliceCertificate, aliceRequest } from './testing/requests.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const request = base64(aliceRequest);
const spec = { request, signerName: 'example.org/signer', usages: ['client auth'] };

const twoSegments = 'should be a domain with at least two segments separated by dots';
const table: readonly { name: string; given: object; want: readonly (string | RegExp)[] }[] = [
  { name: 'accepts a request', given: {}, want: [] },
  {
    name: 'requires all fields',
    given: { request: '', signerName: '', usages: [] },
    want: [
      'spec.request: Invalid value: "": PEM block type must be CERTIFICATE REQUEST',
      'spec.usages: Required value',
      'spec.signerName: Required value',
    ],
  },
  {
    name: 'rejects unknown and repeated usages',
    given: { usages: ['client auth', 'fly', 'client auth'] },
    want: [
      /^spec\.usages\[1\]: Unsupported value: "fly": supported values: "any", .*, "timestamping"$/,
      'spec.usages[2]: Duplicate value: "client auth"',
    ],
  },
  {
    name: 'rejects short durations',
    given: { expirationSeconds: 599 },
    want: ['spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)'],
  },
  { name: 'accepts ten minutes', given: { expirationSeconds: 600 }, want: [] },
  {
    name: 'rejects a signer without a path',
    given: { signerName: 'signer' },
    want: [
      `spec.signerName: Invalid value: "signer": must be a fully qualified domain and path of the form 'example.com/signer-name'`,
    ],
  },
  {
    name: 'rejects a signer without a domain',
    given: { signerName: 'example/signer' },
    want: [`spec.signerName: Invalid value: "example": ${twoSegments}`],
  },
  {
    name: 'reports the first invalid label of domain and path',
    given: { signerName: 'A.b_/x..y' },
    want: [
      /^spec\.signerName: Invalid value: "A\.b_": validating label "A": a lowercase RFC 1123 label must/,
      /^spec\.signerName: Invalid value: "x\.\.y": validating label "": a lowercase RFC 1123 subdomain must/,
    ],
  },
  {
    name: 'rejects the signer of early versions',
    given: { signerName: 'kubernetes.io/legacy-unknown' },
    want: [
      'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
    ],
  },
];
for (const { name, given, want } of table) {
  test(name, () => {
    const errors = createErrors(kind, { spec: { ...spec, ...given } });
    assert.equal(errors.length, want.length, errors.join('\n'));
    want.forEach((text, index) =>
      typeof text === 'string' ? assert.equal(errors[index], text) : assert.match(errors[index] ?? '', text),
    );
  });
}

test('records the user, and ignores what the client sent about it', () => {
  const user = { name: 'alice', uid: '7', groups: ['team'], extra: { 'example.org/a': ['b'] } };
  const sent = decode<CertificateSigningRequest>(kind.schema, {
    metadata: { name: 'a' },
    spec: { ...spec, username: 'root', groups: ['system:masters'] },
    status: { certificate: 'QQ==' },
  }).object;
  const { spec: stored, status } = kind.prepareForCreate(sent, { ...plainContext, user });
  const { username, uid, groups, extra } = stored;
  assert.deepEqual(
    { username, uid, groups, extra, status },
    { username: 'alice', uid: '7', groups: ['team'], extra: user.extra, status: {} },
  );
});

const [then, now] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'];
const context: WriteContext = { ...plainContext, now };
const approved = { type: 'Approved', status: 'True', lastUpdateTime: then, lastTransitionTime: then };
const denied = { ...approved, type: 'Denied' };
const failed = { ...approved, type: 'Failed' };

const withStatus = (status: object): CertificateSigningRequest => ({
  ...created(kind, { spec }),
  status: decode<CertificateSigningRequest>(kind.schema, { spec, status }).object.status,
});

const [{ write }] = kind.subresources as unknown as [{ write: PartialWrite<CertificateSigningRequest> }];

/** What a write of the status, or of the approval, makes of it: the stored status and the errors. */
function written(endpoint: 'status' | 'approval', old: object, next: object): { status: object; errors: string[] } {
  const [stored, sent] = [withStatus(old), withStatus(next)];
  const object =
    endpoint === 'status' ? kind.prepareForStatusUpdate(sent, stored, context) : write.prepare(sent, stored, context);
  const errors =
    endpoint === 'status' ? kind.validateStatus(object, stored, context) : write.validate(object, stored, context);
  return { status: object.status, errors: errors.map(({ path, body }) => `${path}: ${body}`) };
}

suite('status and approval', () => {
  const certificate = base64(aliceCertificate);
  const rows: readonly {
    name: string;
    endpoint: 'status' | 'approval';
    old?: object;
    next: object;
    want: readonly string[];
  }[] = [
    { name: 'an approval', endpoint: 'approval', next: { conditions: [approved] }, want: [] },
    {
      name: 'a certificate with its approval',
      endpoint: 'status',
      old: { conditions: [approved] },
      next: { conditions: [approved], certificate },
      want: [],
    },
    {
      name: 'an approval through status',
      endpoint: 'status',
      next: { conditions: [approved] },
      want: ['status.conditions: Forbidden: updates may not add a condition of type "Approved"'],
    },
    {
      name: 'approval and denial',
      endpoint: 'approval',
      next: { conditions: [approved, denied] },
      want: ['status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive'],
    },
    {
      name: 'the removal of decisions and failures',
      endpoint: 'approval',
      old: { conditions: [denied, failed] },
      next: {},
      want: [
        'status.conditions: Forbidden: updates may not remove a condition of type "Denied"',
        'status.conditions: Forbidden: updates may not remove a condition of type "Failed"',
      ],
    },
    {
      name: 'invalid conditions',
      endpoint: 'approval',
      next: {
        conditions: [
          { ...approved, status: 'False' },
          { type: 'Seen', status: 'X' },
          { type: 'Seen', status: '' },
        ],
      },
      want: [
        'status.conditions[0].status: Unsupported value: "False": supported values: "True"',
        'status.conditions[1].status: Unsupported value: "X": supported values: "False", "True", "Unknown"',
        'status.conditions[2].status: Required value',
        'status.conditions[2].type: Duplicate value: "Seen"',
      ],
    },
    {
      name: 'another certificate',
      endpoint: 'status',
      old: { certificate },
      next: { certificate: base64(`# again\n${aliceCertificate}`) },
      want: ['status.certificate: Forbidden: updates may not modify existing certificate content'],
    },
    ...[
      { pem: 'text', why: 'must contain at least one CERTIFICATE PEM block' },
      { pem: aliceRequest, why: 'only CERTIFICATE PEM blocks are allowed, found "CERTIFICATE REQUEST"' },
      { pem: aliceCertificate.replace('-\n', '-\nA: b\n\n'), why: 'no PEM block headers are permitted' },
      {
        pem: aliceCertificate.replace(/\n[^-]*\n/, '\n'),
        why: 'found CERTIFICATE PEM block containing 0 certificates',
      },
      { pem: aliceCertificate + aliceCertificate.replace('MIIB', 'AAAA'), why: 'x509: malformed certificate' },
    ].map(({ pem, why }) => ({
      name: `as certificate: ${why}`,
      endpoint: 'status' as const,
      next: { certificate: base64(pem) },
      want: [`status.certificate: Invalid value: "<certificate data>": ${why}`],
    })),
  ];
  for (const { name, endpoint, old = {}, next, want } of rows) {
    test(`${want.length === 0 ? 'accepts' : 'rejects'} ${name}`, () =>
      assert.deepEqual(written(endpoint, old, next).errors, want));
  }

  test('an approval completes the times of conditions, and keeps the certificate', () => {
    const { status } = written(
      'approval',
      { conditions: [approved], certificate },
      { conditions: [{ type: 'Approved', status: 'True' }] },
    );
    assert.deepEqual(status, { conditions: [{ ...approved, lastUpdateTime: now }], certificate });
  });

  test('the status keeps the stored decision', () => {
    const changed = { ...approved, reason: 'Changed' };
    assert.deepEqual(written('status', { conditions: [approved] }, { conditions: [changed] }).status, {
      conditions: [approved],
    });
  });
});

for (const [want, status] of [
  ['Pending', {}],
  ['Approved', { conditions: [approved] }],
  ['Denied', { conditions: [denied] }],
  ['Approved,Failed', { conditions: [approved, failed] }],
  ['Approved,Issued', { conditions: [approved], certificate: 'QQ==' }],
] as const) {
  test(`prints ${want}`, () => {
    const row = cells(kind, { spec: { ...spec, expirationSeconds: 3600, username: 'alice' }, status });
    assert.deepEqual(row, ['a', '<unknown>', 'example.org/signer', 'alice', '60m', want]);
  });
}
