import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure } from '../../api/errors.ts';
import { serviceImportAlphaKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import { Client } from '../../client/client.ts';
import { inProcess } from '../../client/in-process.ts';
import type { Transport } from '../../client/transport.ts';
import { testServer } from '../../server/testing/server.ts';
import { importFieldsOf } from './import-fields.ts';

const { signal } = new AbortController();

/** A client whose server returns this response to every request. */
const answering = (answer: Transport['request']): Client =>
  new Client({ request: answer, stream: () => assert.fail('unexpected watch'), [Symbol.dispose]() {} });

/** The relevant part of what Kubernetes publishes. */
const published = {
  components: {
    schemas: {
      'io.x-k8s.multicluster.v1alpha1.ServiceExport': {
        'x-kubernetes-group-version-kind': [{ kind: 'ServiceExport' }],
      },
      'io.x-k8s.multicluster.v1alpha1.ServiceImport': {
        properties: {
          spec: { properties: { ports: {}, ips: {}, type: {} } },
          status: { properties: { clusters: {} } },
        },
        'x-kubernetes-group-version-kind': [{ kind: 'ServiceImport' }],
      },
    },
  },
};

test('returns the fields that the definition of a member lists', async () => {
  const paths: string[] = [];
  const client = answering(async ({ path }) => {
    paths.push(path);
    return { status: 200, headers: {}, body: JSON.stringify(published) };
  });
  assert.deepEqual(await importFieldsOf(client, serviceImportAlphaKind, signal), {
    spec: new Set(['ports', 'ips', 'type']),
    status: new Set(['clusters']),
  });
  assert.deepEqual(paths, ['/openapi/v3/apis/multicluster.x-k8s.io/v1alpha1']);
});

test('assumes all fields if the server publishes none, and rejects if it does not answer', async () => {
  const refusing = (code: number): Client =>
    answering(() => Promise.reject(failure({ code, reason: 'NotFound', message: 'no' })));
  assert.deepEqual(await importFieldsOf(refusing(404), serviceImportAlphaKind, signal), {});
  await assert.rejects(importFieldsOf(refusing(503), serviceImportAlphaKind, signal));
});

test('our own server stores all fields', async () => {
  await using server = await testServer();
  const user = { name: 'me', uid: '', groups: ['system:masters', 'system:authenticated'] };
  const client = new Client(inProcess((request) => server.handle({ ...request, user })));
  assert.deepEqual(await importFieldsOf(client, serviceImportAlphaKind, signal), {
    spec: undefined,
    status: undefined,
  });
});
