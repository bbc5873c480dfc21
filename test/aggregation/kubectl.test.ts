// kubectl with an aggregated API server: a process of its own over TLS, behind a `fairlead server`.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import type { Extension } from '../../src/server/testing/extension-server.ts';
import { sendJson, startExtension } from '../../src/server/testing/extension-server.ts';
import type { Result } from '../harness/command.ts';
import { run } from '../harness/command.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { FairleadServer } from '../harness/server.ts';

const [kubectl] = await findKubectls();
const usage = { cpu: '250m', memory: '64Mi' };

describe(`kubectl ${kubectl?.version ?? ''} with a metrics-server`, () => {
  let server: FairleadServer;
  let extension: Extension;
  const call = (args: readonly string[], input = ''): Promise<Result> =>
    run(kubectl?.path ?? 'kubectl', ['--kubeconfig', server.kubeconfig, ...args], { input });

  before(async () => {
    server = await FairleadServer.start();
    const { out } = await call([
      'get',
      'configmap',
      '-n',
      'kube-system',
      'extension-apiserver-authentication',
      '-o',
      'jsonpath={.data.requestheader-client-ca-file}',
    ]);
    assert.match(out, /BEGIN CERTIFICATE/);
    extension = await startExtension(
      {
        group: 'metrics.k8s.io',
        version: 'v1beta1',
        service: { namespace: 'kube-system', name: 'metrics-server' },
        requestHeaderCa: out,
        allowedNames: ['front-proxy-client'],
        resources: [
          { name: 'nodes', singularName: '', namespaced: false, kind: 'NodeMetrics', verbs: ['get', 'list'] },
          { name: 'pods', singularName: '', namespaced: true, kind: 'PodMetrics', verbs: ['get', 'list'] },
        ],
        handle(request, response) {
          const { pathname } = new URL(request.url ?? '', 'https://extension');
          const node = { metadata: { name: 'elsewhere' }, timestamp: '2026-01-01T00:00:00Z', window: '20s', usage };
          const apiVersion = 'metrics.k8s.io/v1beta1';
          if (pathname.endsWith('/nodes/elsewhere'))
            sendJson(response, 200, { apiVersion, kind: 'NodeMetrics', ...node });
          else if (pathname.endsWith('/nodes')) {
            sendJson(response, 200, { apiVersion, kind: 'NodeMetricsList', metadata: {}, items: [node] });
          } else {
            sendJson(response, 404, {
              kind: 'Status',
              apiVersion: 'v1',
              status: 'Failure',
              reason: 'NotFound',
              message: `no ${pathname}`,
              code: 404,
            });
          }
        },
      },
      'localhost',
    );
    const manifests = [
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'elsewhere' } },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'metrics-server', namespace: 'kube-system' },
        spec: { type: 'ExternalName', externalName: 'localhost' },
      },
      {
        apiVersion: 'apiregistration.k8s.io/v1',
        kind: 'APIService',
        metadata: { name: 'v1beta1.metrics.k8s.io' },
        spec: {
          group: 'metrics.k8s.io',
          version: 'v1beta1',
          groupPriorityMinimum: 100,
          versionPriority: 100,
          caBundle: extension.caBundle,
          service: { name: 'metrics-server', namespace: 'kube-system', port: extension.port },
        },
      },
    ];
    const applied = await call(
      ['apply', '-f', '-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests }),
    );
    assert.equal(applied.code, 0, applied.err);
    const waited = await call([
      'wait',
      '--for=condition=Available',
      '--timeout=60s',
      'apiservice/v1beta1.metrics.k8s.io',
    ]);
    assert.equal(waited.code, 0, waited.err);
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    if (extension.server.listening) await extension[Symbol.asyncDispose]();
  });

  test('get apiservices shows where each version is served', async () => {
    const { out } = await call(['get', 'apiservices']);
    assert.match(out, /^NAME +SERVICE +AVAILABLE +AGE\n/);
    assert.match(out, /^v1\. +Local +True +/m);
    assert.match(out, /^v1beta1\.metrics\.k8s\.io +kube-system\/metrics-server +True +/m);
  });

  test('top and get show what the server answers', async () => {
    const top = await call(['top', 'node']);
    assert.match(top.out, /^elsewhere +250m +64Mi +$/m, top.err);
    const { out } = await call(['get', '--raw', '/apis/metrics.k8s.io/v1beta1/nodes/elsewhere']);
    assert.match(out, /"window":"20s"/);
    const missing = await call(['get', 'pods.metrics.k8s.io', 'none']);
    assert.match(
      missing.err,
      /Error from server \(NotFound\): no \/apis\/metrics\.k8s\.io\/v1beta1\/namespaces\/default\/pods\/none/,
    );
  });

  test('api-resources lists the kinds, and explain still describes others', async () => {
    const { out } = await call(['api-resources', '--api-group=metrics.k8s.io']);
    assert.match(out, /^nodes +metrics\.k8s\.io\/v1beta1 +false +NodeMetrics$/m);
    assert.match((await call(['explain', 'apiservice.spec.caBundle'])).out, /CA certificates in PEM/);
  });

  test('a server that is gone is unavailable, until it is back or its APIService is deleted', async () => {
    await extension[Symbol.asyncDispose]();
    // A change of the Service checks the server again.
    await call(['annotate', 'service', '-n', 'kube-system', 'metrics-server', 'checked=yes']);
    const waited = await call([
      'wait',
      '--for=condition=Available=false',
      '--timeout=60s',
      'apiservice/v1beta1.metrics.k8s.io',
    ]);
    assert.equal(waited.code, 0, waited.err);
    const top = await call(['top', 'node']);
    assert.match(top.err, /service unavailable|unable to handle the request|Metrics API not available/);
    assert.equal((await call(['get', 'namespaces'])).code, 0);
    const { out } = await call(['get', 'apiservice', 'v1beta1.metrics.k8s.io']);
    assert.match(out, /False \(FailedDiscoveryCheck\)/);
    await call(['delete', 'apiservice', 'v1beta1.metrics.k8s.io']);
    assert.equal((await call(['get', '--raw', '/apis/metrics.k8s.io/v1beta1/nodes'])).code, 0);
  });
});
