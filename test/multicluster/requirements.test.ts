// Requirements of KEP-1645 for exports and conflicts, each in a set of its own.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { failure } from '../../src/api/errors.ts';
import { namespaceKind } from '../../src/api/kinds/core/namespace/kind.ts';
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import { defaultSourceLeaseMs, probeTimesOf } from '../../src/multicluster/member/options.ts';
import { until } from '../../src/server/testing/until.ts';
import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import { joined, reasonOf, web } from './pair.ts';

describe('exports', () => {
  test('MCS-25 MCS-26 an export waits for its Service, and is withdrawn when the Service is deleted', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joined(stack);
    await east.export('web');
    await until('the condition names the reason', async () => (await reasonOf(east, 'Initialized')) === 'NoService');
    await east.service('web', ['10.1.0.1']);
    await until('the export succeeded', async () => (await reasonOf(east, 'Exported')) === 'Exported');
    assert.equal((await west.imported('web')).length, 1);
    await west.service('web', ['10.2.0.1']);
    await west.export('web');
    await until('both clusters export it', async () => Object.keys(await east.addresses('web')).length === 2);
    await east.client.delete(serviceKind, web);
    await until('its endpoints are deleted', async () => Object.keys(await west.addresses('web')).join() === 'west');
    await until('the condition names the reason', async () => (await reasonOf(east, 'Initialized')) === 'NoService');
  });

  test('MCS-93 MCS-163 EXT-9 an export of type ExternalName is rejected until the type changes', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joined(stack);
    const spec = { type: 'ExternalName' as const, externalName: 'example.org' };
    await east.client.create(serviceKind, { metadata: web, spec, status: { loadBalancer: {} } });
    await east.export('web');
    await until(
      'the condition names the reason',
      async () => (await reasonOf(east, 'Initialized')) === 'InvalidServiceType',
    );
    assert.equal(await west.importedService('web'), undefined);
    const patch = { spec: { type: 'ClusterIP', externalName: null, ports: [{ name: 'http', port: 80 }] } };
    await east.client.patch(serviceKind, web, { body: patch });
    await until('the service is imported', async () => (await west.importedService('web')) !== undefined);
  });

  test('MCS-21 the finalizer of an export stays until it is withdrawn everywhere except in lost clusters', async () => {
    await using stack = new AsyncDisposableStack();
    // Neither silence on a busy machine nor the export of the other API removes the finalizer.
    const { east, west } = await joined(stack, { probeTimes: probeTimesOf(defaultSourceLeaseMs) });
    await east.service('web', ['10.1.0.1']);
    await east.export('web', ['supercluster']);
    await until('the export succeeded', async () => (await reasonOf(east, 'Exported')) === 'Exported');
    const { finalizers } = (await east.client.get(superclusterExportKind, web)).metadata;
    assert.deepEqual(finalizers, ['fairlead.dev/multicluster-export']);
    await until('the endpoints are imported', async () => (await west.addresses('web'))['east'] !== undefined);
    west.fault = ({ method, path }) => {
      if (method === 'DELETE' && path.includes('endpointslices'))
        throw failure({ code: 503, reason: 'x', message: 'busy' });
    };
    await east.client.delete(superclusterExportKind, web);
    await delay(200);
    assert.ok(await east.client.find(superclusterExportKind, web), 'it waits');
    west.reconnect();
    await until(
      'the export is deleted',
      async () => (await east.client.find(superclusterExportKind, web)) === undefined,
    );
    assert.deepEqual(await west.imported('web'), []);
  });

  test('MCS-13 MCS-52 a Service without an export takes no part, and MCS-7 Services are not changed', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joined(stack);
    await west.service('web', ['10.2.0.1']);
    await east.service('web', ['10.1.0.1']);
    const own = { namespace: 'shop', labelSelector: 'kubernetes.io/service-name=web' };
    const state = async (): Promise<unknown> =>
      Promise.all(
        [east, west].map(async ({ client }) => [
          await client.get(serviceKind, web),
          (await client.list(endpointSliceKind, own)).items,
        ]),
      );
    const before = await state();
    await east.export('web');
    await until('the service is imported', async () => (await west.imported('web')).length === 1);
    assert.deepEqual(await west.addresses('web'), { east: ['10.1.0.1'] });
    assert.deepEqual(await state(), before);
  });

  test('MCS-109 a cluster imports a service once it has the namespace', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joined(stack);
    await west.client.delete(namespaceKind, { name: 'shop' });
    await until(
      'the namespace is deleted',
      async () => (await west.client.find(namespaceKind, { name: 'shop' })) === undefined,
    );
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('no cluster is missing', async () => (await reasonOf(east, 'Exported')) === 'Exported');
    assert.equal(await west.importedService('web'), undefined);
    await west.namespace('shop');
    await until('the cluster imports the service', async () => (await west.imported('web')).length === 1);
  });
});

describe('conflicts', () => {
  test('MCS-121 MCS-122 MCS-123 MCS-124 MCS-136 withdraw the ImportedService everywhere, and restore it afterwards', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joined(stack);
    await east.service('web', ['10.1.0.1']);
    await west.service('web', ['10.2.0.1'], { ports: [{ name: 'http', port: 81, protocol: 'TCP' }] });
    await east.export('web');
    await until('the service is imported', async () => (await west.importedService('web')) !== undefined);
    const { ip } = (await west.importedService('web'))?.spec ?? {};
    await west.export('web');
    for (const cluster of [east, west]) {
      await until('the ImportedService is deleted', async () => (await cluster.importedService('web')) === undefined);
      await until(
        'both exports report the conflict',
        async () => (await cluster.conditions('web', 'supercluster'))['Conflict'] === 'True',
      );
      assert.equal((await cluster.serviceImport('web'))?.spec?.ports?.[0]?.port, 80, 'the oldest wins there');
    }
    const patch = { spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' }] } };
    await west.client.patch(serviceKind, web, { body: patch });
    await until(
      'the ImportedService has the same address again',
      async () => (await west.importedService('web'))?.spec?.ip === ip,
    );
    await until('all endpoints are imported', async () => Object.keys(await east.addresses('web')).length === 2);
    await until(
      'the conflict is resolved',
      async () => (await west.conditions('web', 'supercluster'))['Conflict'] === 'False',
    );
  });
});
