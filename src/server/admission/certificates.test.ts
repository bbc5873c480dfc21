import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import {
  aliceCertificate,
  aliceRequest,
  masterRequest,
} from '../../api/kinds/certificates/certificatesigningrequest/testing/requests.ts';
import { testServer } from '../testing/server.ts';
import type { TestServer } from '../testing/server.ts';

const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const merge = 'application/merge-patch+json';
const clientSigner = 'kubernetes.io/kube-apiserver-client';
const approved = { conditions: [{ type: 'Approved', status: 'True', reason: 'Test', message: 'yes' }] };
const base64 = (text: string): string => Buffer.from(text).toString('base64');

const requestFor = (pem: string, signerName: string): object => ({
  metadata: { name: 'alice', labels: { app: 'web' } },
  spec: { request: base64(pem), signerName, usages: ['client auth'] },
});

/** Lets alice create, approve and sign requests for the signers. */
async function allow(server: TestServer, verbs: readonly string[], signers: readonly string[]): Promise<void> {
  const all = [
    'certificatesigningrequests',
    'certificatesigningrequests/approval',
    'certificatesigningrequests/status',
  ];
  const apiGroups = ['certificates.k8s.io'];
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  await server.ask('POST', `${rbac}/clusterroles`, {
    body: {
      metadata: { name: 'signing' },
      rules: [
        { apiGroups, resources: all, verbs: ['create', 'get', 'patch', 'update'] },
        { apiGroups, resources: ['signers'], verbs, resourceNames: signers },
      ],
    },
  });
  const { status } = await server.ask('POST', `${rbac}/clusterrolebindings`, {
    body: {
      metadata: { name: 'signing' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'signing' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'alice' }],
    },
  });
  assert.equal(status, 201);
}

suite('CertificateSigningRequests', () => {
  test('are created, approved and signed by those who may, with the user recorded', async () => {
    await using server = await testServer();
    await allow(server, ['approve', 'sign'], ['example.org/*']);
    const alice = server.as({ name: 'alice', groups: ['team'] });
    const created = await alice.ask('POST', requests, { body: requestFor(aliceRequest, 'example.org/signer') });
    assert.equal(created.status, 201, created.text);
    const { username, groups } = created.body.spec;
    assert.deepEqual([username, groups[0]], ['alice', 'team']);
    const approval = await alice.ask('PATCH', `${requests}/alice/approval`, {
      type: merge,
      body: { status: approved },
    });
    assert.equal(approval.status, 200, approval.text);
    assert.match(approval.body.status.conditions[0].lastTransitionTime, /^\d{4}-/);
    const certificate = base64(aliceCertificate);
    const signed = await alice.ask('PATCH', `${requests}/alice/status`, {
      type: merge,
      body: { status: { certificate } },
    });
    assert.equal(signed.status, 200, signed.text);
    const owners = signed.body.metadata.managedFields.map(
      ({ subresource = '', fieldsV1 }: { subresource?: string; fieldsV1: object }) => [
        subresource,
        Object.keys(fieldsV1),
      ],
    );
    // As in Kubernetes, nobody owns the spec, which only the creation sets.
    assert.deepEqual(owners.toSorted(), [
      ['', ['f:metadata']],
      ['approval', ['f:status']],
      ['status', ['f:status']],
    ]);
    const changed = await server.ask('PATCH', `${requests}/alice`, {
      type: merge,
      body: { spec: { usages: ['any'] } },
    });
    assert.deepEqual([changed.status, changed.body.spec.usages], [200, ['client auth']]);
  });

  test('are not approved or signed without the right for the signer', async () => {
    await using server = await testServer();
    await allow(server, ['approve', 'sign'], ['example.org/other']);
    const alice = server.as({ name: 'alice' });
    await alice.ask('POST', requests, { body: requestFor(aliceRequest, 'example.org/signer') });
    const prefix = 'certificatesigningrequests.certificates.k8s.io "alice" is forbidden: user not permitted to';
    const approval = await alice.ask('PATCH', `${requests}/alice/approval`, {
      type: merge,
      body: { status: approved },
    });
    assert.deepEqual(
      [approval.status, approval.body.message],
      [403, `${prefix} approve requests with signerName "example.org/signer"`],
    );
    const body = { status: { certificate: base64(aliceCertificate) } };
    const signed = await alice.ask('PATCH', `${requests}/alice/status`, { type: merge, body });
    assert.deepEqual(
      [signed.status, signed.body.message],
      [403, `${prefix} sign requests with signerName "example.org/signer"`],
    );
  });

  test('cannot request the rights of administrators at the API server', async () => {
    await using server = await testServer();
    const { status, body } = await server.ask('POST', requests, { body: requestFor(masterRequest, clientSigner) });
    assert.equal(status, 403);
    assert.equal(
      body.message,
      `certificatesigningrequests.certificates.k8s.io "alice" is forbidden: use of ${clientSigner} signer with system:masters group is not allowed`,
    );
  });

  test('are not restricted by disabled plugins', async () => {
    await using server = await testServer({ admissionPlugins: new Set(['CertificateApproval']) });
    const { status } = await server.ask('POST', requests, { body: requestFor(masterRequest, clientSigner) });
    assert.equal(status, 201);
  });

  test('are found by their signer', async () => {
    await using server = await testServer();
    await server.ask('POST', requests, { body: requestFor(aliceRequest, 'example.org/signer') });
    const found = async (signer: string): Promise<number> =>
      (await server.ask('GET', `${requests}?fieldSelector=spec.signerName%3D${signer}`)).body.items.length;
    assert.deepEqual([await found('example.org/signer'), await found('example.org/other')], [1, 0]);
  });
});
