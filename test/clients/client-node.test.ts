import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { KubernetesObject } from '@kubernetes/client-node';
import {
  ApiException,
  CoreV1Api,
  DiscoveryV1Api,
  KubeConfig,
  KubernetesObjectApi,
  NetworkingV1Api,
  PatchStrategy,
  setHeaderOptions,
  Watch,
} from '@kubernetes/client-node';

import { FairleadServer } from '../harness/server.ts';

const namespace = 'default';

/** The code and reason of an error of the client. */
async function failureOf(request: Promise<unknown>): Promise<string> {
  try {
    await request;
    return 'success';
  } catch (error) {
    if (!(error instanceof ApiException)) throw error;
    const { reason } = JSON.parse(String(error.body)) as { reason: string };
    return `${error.code} ${reason}`;
  }
}

describe('the official JavaScript client', () => {
  let server: FairleadServer;
  const config = new KubeConfig();
  before(async () => {
    server = await FairleadServer.start();
    config.loadFromFile(server.kubeconfig);
  });
  after(() => server[Symbol.asyncDispose]());

  test('CoreV1Api creates, reads, lists, replaces, patches and deletes a Service', async () => {
    const core = config.makeApiClient(CoreV1Api);
    const spec = { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 'http' }] };
    const created = await core.createNamespacedService({ namespace, body: { metadata: { name: 'web' }, spec } });
    assert.match(created.spec?.clusterIP ?? '', /^10\.0\.0\.\d+$/);
    assert.ok(created.metadata?.creationTimestamp instanceof Date);

    const read = await core.readNamespacedService({ namespace, name: 'web' });
    assert.deepEqual(read, created);
    const { items } = await core.listNamespacedService({ namespace, fieldSelector: 'metadata.name=web' });
    assert.deepEqual(
      items.map(({ spec: listed }) => listed),
      [created.spec],
    );

    assert.ok(read.spec !== undefined);
    read.spec.type = 'NodePort';
    const replaced = await core.replaceNamespacedService({ namespace, name: 'web', body: read });
    assert.ok((replaced.spec?.ports?.[0]?.nodePort ?? 0) >= 30_000);
    assert.equal(
      await failureOf(core.replaceNamespacedService({ namespace, name: 'web', body: read })),
      '409 Conflict',
    );

    const patched = await core.patchNamespacedService(
      { namespace, name: 'web', body: { metadata: { labels: { tier: 'front' } } } },
      setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch),
    );
    assert.deepEqual(patched.metadata?.labels, { tier: 'front' });
    const operations = [{ op: 'replace', path: '/spec/ports/0/port', value: 8080 }];
    const again = await core.patchNamespacedService(
      { namespace, name: 'web', body: operations },
      setHeaderOptions('Content-Type', PatchStrategy.JsonPatch),
    );
    assert.equal(again.spec?.ports?.[0]?.port, 8080);

    await core.deleteNamespacedService({ namespace, name: 'web' });
    assert.equal(await failureOf(core.readNamespacedService({ namespace, name: 'web' })), '404 NotFound');
    const bad = { metadata: { name: 'Web' }, spec: { ports: [{ port: 0 }] } };
    assert.equal(await failureOf(core.createNamespacedService({ namespace, body: bad })), '422 Invalid');
  });

  test('DiscoveryV1Api and NetworkingV1Api write what they read', async () => {
    const discovery = config.makeApiClient(DiscoveryV1Api);
    const slice = {
      metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['192.0.2.1'], conditions: { ready: true }, zone: 'a' }],
      ports: [{ name: 'http', port: 80 }],
    };
    const created = await discovery.createNamespacedEndpointSlice({ namespace, body: slice });
    assert.equal(created.ports?.[0]?.protocol, 'TCP');
    const replaced = await discovery.replaceNamespacedEndpointSlice({ namespace, name: 'web-1', body: created });
    assert.equal(
      replaced.metadata?.resourceVersion,
      created.metadata?.resourceVersion,
      'an update without changes is not written',
    );

    const networking = config.makeApiClient(NetworkingV1Api);
    const path = { path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 80 } } } };
    const body = { metadata: { name: 'web' }, spec: { rules: [{ host: 'web.example.org', http: { paths: [path] } }] } };
    await networking.createNamespacedIngress({ namespace, body });
    const ingresses = await networking.listIngressForAllNamespaces();
    assert.deepEqual(
      ingresses.items.map(({ metadata }) => metadata?.name),
      ['web'],
    );
    const deleted = await networking.deleteCollectionNamespacedIngress({ namespace });
    assert.equal(deleted.status, undefined); // the response is a list of the deleted objects, not a Status
    assert.equal((await networking.listNamespacedIngress({ namespace })).items.length, 0);
  });

  test('KubernetesObjectApi finds a resource by kind and version, and applies on the server', async () => {
    const objects = KubernetesObjectApi.makeApiClient(config);
    const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace } };
    const created = await objects.create({ ...manifest, data: { a: '1' } });
    assert.equal(created.metadata?.name, 'settings');
    const applied: KubernetesObject = await objects.patch(
      { ...manifest, data: { b: '2' } },
      undefined,
      undefined,
      'test',
      true,
      PatchStrategy.ServerSideApply,
    );
    assert.deepEqual(Reflect.get(applied, 'data'), { a: '1', b: '2' });
    const read = await objects.read(manifest);
    assert.equal(read.metadata?.resourceVersion, applied.metadata?.resourceVersion);
    const { items } = await objects.list('v1', 'ConfigMap', namespace);
    assert.ok(items.some(({ metadata }) => metadata?.name === 'settings'));
    await objects.delete(manifest);
    assert.equal(await failureOf(objects.read(manifest)), '404 NotFound');
  });

  test('Watch delivers events and ends when it is aborted', async () => {
    const core = config.makeApiClient(CoreV1Api);
    const { metadata } = await core.listNamespacedConfigMap({ namespace });
    const events: string[] = [];
    const watched = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<unknown>();
    const controller = await new Watch(config).watch(
      `/api/v1/namespaces/${namespace}/configmaps`,
      { resourceVersion: metadata?.resourceVersion ?? '' },
      (phase, object: { metadata: { name: string } }) => {
        events.push(`${phase} ${object.metadata.name}`);
        if (phase === 'DELETED') watched.resolve();
      },
      (error: unknown) => ended.resolve(error),
    );
    await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'seen' } } });
    await core.patchNamespacedConfigMap(
      { namespace, name: 'seen', body: { data: { a: '1' } } },
      setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
    );
    await core.deleteNamespacedConfigMap({ namespace, name: 'seen' });
    await watched.promise;
    controller.abort();
    await ended.promise;
    assert.deepEqual(events, ['ADDED seen', 'MODIFIED seen', 'DELETED seen']);
  });
});
