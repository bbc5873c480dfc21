import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { Resolver } from 'node:dns/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { CoreV1Api, CustomObjectsApi, KubeConfig } from '@kubernetes/client-node';

import type { Cluster } from './library.ts';
import { startCluster } from './library.ts';

function coreApi({ kubeconfig }: Cluster): CoreV1Api {
  const config = new KubeConfig();
  config.loadFromString(JSON.stringify(kubeconfig));
  return config.makeApiClient(CoreV1Api);
}

const serviceOf = (name: string): { metadata: { name: string }; spec: { ports: { port: number }[] } } => ({
  metadata: { name },
  spec: { ports: [{ port: 80 }] },
});

describe('startCluster', () => {
  test('serves its own kubeconfig, and deletes its data when it stops', async () => {
    const cluster = await startCluster();
    const core = coreApi(cluster);
    await core.createNamespacedService({ namespace: 'default', body: serviceOf('web') });
    const { items } = await core.listNamespacedService({ namespace: 'default' });
    assert.deepEqual(
      items.map(({ metadata }) => metadata?.name),
      ['kubernetes', 'web'],
    );
    assert.ok(existsSync(cluster.kubeconfigPath));
    await cluster.stop();
    await cluster.stop();
    assert.ok(!existsSync(cluster.kubeconfigPath));
    await assert.rejects(core.listNamespacedService({ namespace: 'default' }));
  });

  test('its files are in memory, or where TMPDIR is set', async () => {
    const set = process.env['TMPDIR'];
    const directory = await mkdtemp(join(tmpdir(), 'fairlead-test-'));
    try {
      delete process.env['TMPDIR'];
      await using cluster = await startCluster({ parts: [] });
      const memory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
      assert.ok(cluster.kubeconfigPath.startsWith(`${memory}/fairlead-`), cluster.kubeconfigPath);
      process.env['TMPDIR'] = directory;
      await using other = await startCluster({ parts: [] });
      assert.ok(other.kubeconfigPath.startsWith(`${directory}/fairlead-`), other.kubeconfigPath);
      await other.stop();
      assert.deepEqual(await readdir(directory), []);
    } finally {
      if (set === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = set;
      await rm(directory, { recursive: true });
    }
  });

  test('several clusters run beside each other', async () => {
    await using first = await startCluster({ name: 'first', parts: [] });
    await using second = await startCluster({ name: 'second', parts: [] });
    await coreApi(first).createNamespacedService({ namespace: 'default', body: serviceOf('web') });
    const { items } = await coreApi(second).listNamespacedService({ namespace: 'default' });
    assert.equal(items.length, 1);
  });

  test('runs parts, with manifests, gates and flags', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'fairlead-test-'));
    const manifest = join(directory, 'web.json');
    const service = { apiVersion: 'v1', kind: 'Service', ...serviceOf('web') };
    await writeFile(manifest, JSON.stringify(service));
    await using cluster = await startCluster({
      parts: ['dns'],
      manifests: [manifest],
      gates: { RelaxedServiceNameValidation: false },
      flags: { 'service-cluster-ip-range': '127.99.0.0/16' },
    });
    await rm(directory, { recursive: true });
    const { spec } = await coreApi(cluster).readNamespacedService({ namespace: 'default', name: 'web' });
    assert.match(spec?.clusterIP ?? '', /^127\.99\./);
    await assert.rejects(
      coreApi(cluster).createNamespacedService({ namespace: 'default', body: serviceOf('1web') }),
      /DNS-1035/,
    );
    const resolver = new Resolver();
    resolver.setServers([`${cluster.dns?.address}:${cluster.dns?.port}`]);
    assert.deepEqual(await resolver.resolve4('kubernetes.default.svc.cluster.local'), ['127.99.0.1']);
  });

  for (const { name, options, message } of [
    { name: 'part', options: { parts: ['kubelet'] }, message: /unknown component "kubelet": expected server, / },
    { name: 'gate', options: { gates: { Nothing: true } }, message: /unrecognized feature gate: Nothing/ },
    { name: 'flag', options: { flags: { nothing: 'x' } }, message: /unknown flag "nothing"/ },
    { name: 'manifest', options: { manifests: ['/nowhere.yaml'] }, message: /cannot read --apply \/nowhere.yaml/ },
  ]) {
    test(`rejects an unknown ${name}`, async () => {
      await assert.rejects(startCluster(options), message);
    });
  }

  test('serves custom resources and calls the webhooks of the test', async () => {
    const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'webs.example.org' },
      spec: {
        group: 'example.org',
        scope: 'Namespaced',
        names: { plural: 'webs', kind: 'Web' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      },
    };
    const configuration = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'webs' },
      webhooks: [
        {
          name: 'webs.example.org',
          clientConfig: { service: { namespace: 'system', name: 'webhooks', path: '/validate' } },
          rules: [{ operations: ['CREATE'], apiGroups: ['example.org'], apiVersions: ['v1'], resources: ['webs'] }],
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    };
    const directory = await mkdtemp(join(tmpdir(), 'fairlead-test-'));
    const other = { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization', resources: ['webs.json'] };
    await writeFile(join(directory, 'kustomization.json'), JSON.stringify(other));
    await writeFile(join(directory, 'webs.json'), JSON.stringify(definition));
    await using cluster = await startCluster({
      parts: [],
      crds: [directory],
      webhooks: { configurations: [configuration] },
    });
    await rm(directory, { recursive: true });
    assert.ok(cluster.webhooks !== undefined);
    const { host, port, cert, key } = cluster.webhooks;
    const reviewed: string[] = [];
    const server = createServer({ cert, key }, (request, response) => {
      void text(request).then((body) => {
        // oxlint-disable-next-line typescript/no-unsafe-assignment -- an AdmissionReview
        const { request: review } = JSON.parse(body);
        reviewed.push(`${request.url?.split('?')[0]} ${review.operation}`);
        const answer = { uid: review.uid, allowed: review.name === 'good', status: { message: 'not good' } };
        response.end(JSON.stringify({ ...JSON.parse(body), request: undefined, response: answer }));
      });
    });
    server.listen(port, host);
    await once(server, 'listening');
    try {
      const config = new KubeConfig();
      config.loadFromString(JSON.stringify(cluster.kubeconfig));
      const api = config.makeApiClient(CustomObjectsApi);
      const target = { group: 'example.org', version: 'v1', namespace: 'default', plural: 'webs' };
      const body = (name: string): object => ({ apiVersion: 'example.org/v1', kind: 'Web', metadata: { name } });
      await api.createNamespacedCustomObject({ ...target, body: body('good') });
      await assert.rejects(
        api.createNamespacedCustomObject({ ...target, body: body('bad') }),
        /denied the request: not good/,
      );
      assert.deepEqual(reviewed, ['/validate CREATE', '/validate CREATE']);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  test('rejects definitions that are not there', async () => {
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' } };
    await assert.rejects(
      startCluster({ parts: [], crds: [service] }),
      /crds\[0\]: there is no CustomResourceDefinition in it/,
    );
    await assert.rejects(startCluster({ parts: [], crds: ['/nowhere'] }), /cannot read crds \/nowhere/);
    await assert.rejects(
      startCluster({ parts: [], webhooks: { host: '192.0.2.1' } }),
      /cannot listen for webhooks on 192\.0\.2\.1/,
    );
  });
});
