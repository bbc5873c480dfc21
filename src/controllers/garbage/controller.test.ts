import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { configMapKind } from '../../api/kinds/core/configmap/kind.ts';
import { eventKind } from '../../api/kinds/core/event/kind.ts';
import type { ConfigMap } from '../../api/kinds/core/configmap/schema.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import { inProcess } from '../../client/in-process.ts';
import { testServer } from '../../server/testing/server.ts';
import type { TestServer } from '../../server/testing/server.ts';
import { until } from '../../server/testing/until.ts';
import { TestCluster, quiet } from '../testing/cluster.ts';

const user = { name: 'controllers', uid: '', groups: ['system:masters', 'system:authenticated'] };

const clusterOf = (server: TestServer): TestCluster =>
  new TestCluster(() => inProcess((request) => server.handle({ ...request, user })));

const onlyCollector = { controllers: ['garbage-collector-controller'] };

/** A ConfigMap with blocking owner references. */
function owned(cluster: TestCluster, name: string, owners: readonly ConfigMap[], namespace = 'default') {
  const ownerReferences = owners.map(({ metadata: { name: owner = '', uid = '' } }) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: owner,
    uid,
    blockOwnerDeletion: true,
  }));
  return cluster.user.create(configMapKind, { metadata: { name, namespace, ownerReferences } });
}

const at = (name: string): { readonly namespace: string; readonly name: string } => ({ namespace: 'default', name });

const find = (cluster: TestCluster, name: string): Promise<ConfigMap | undefined> =>
  cluster.user.find(configMapKind, at(name));

const gone = (cluster: TestCluster, name: string): Promise<boolean> =>
  until(`${name} is gone`, async () => (await find(cluster, name)) === undefined);

describe('deletion of an owner with dependents', () => {
  test('in the background deletes them after it, level by level', async () => {
    await using server = await testServer();
    const cluster = clusterOf(server);
    await using running = cluster.start(onlyCollector);
    await running.ready;
    const top = await owned(cluster, 'top', []);
    const middle = await owned(cluster, 'middle', [top]);
    await owned(cluster, 'bottom', [middle]);
    await cluster.user.delete(configMapKind, at('top'), { propagationPolicy: 'Background' });
    for (const name of ['top', 'middle', 'bottom']) await gone(cluster, name);
    await quiet(cluster);
    assert.deepEqual(cluster.takeWrites(), ['200 DELETE configmaps/bottom', '200 DELETE configmaps/middle']);
  });

  test('in the foreground deletes the owner last', async () => {
    await using server = await testServer();
    const cluster = clusterOf(server);
    await using running = cluster.start(onlyCollector);
    await running.ready;
    const top = await owned(cluster, 'top', []);
    const middle = await owned(cluster, 'middle', [top]);
    await owned(cluster, 'bottom', [middle]);
    const watch = await server.watch('/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=0');
    await cluster.user.delete(configMapKind, at('top'), { propagationPolicy: 'Foreground' });
    await gone(cluster, 'top');
    const deleted = await until('three deletions', () => {
      const found = watch.events.filter(({ type }) => type === 'DELETED').map(({ object }) => object.metadata.name);
      return found.length === 3 ? found : undefined;
    });
    assert.deepEqual(deleted, ['bottom', 'middle', 'top']);
    watch.close();
  });

  test('by orphaning removes their references', async () => {
    await using server = await testServer();
    const cluster = clusterOf(server);
    await using running = cluster.start(onlyCollector);
    await running.ready;
    const top = await owned(cluster, 'top', []);
    const other = await owned(cluster, 'other', []);
    await owned(cluster, 'one', [top]);
    await owned(cluster, 'two', [top, other]);
    await cluster.user.delete(configMapKind, at('top'), { propagationPolicy: 'Orphan' });
    await gone(cluster, 'top');
    await quiet(cluster);
    assert.deepEqual((await find(cluster, 'one'))?.metadata.ownerReferences ?? [], []);
    assert.deepEqual(
      (await find(cluster, 'two'))?.metadata.ownerReferences?.map(({ name }) => name),
      ['other'],
    );
  });

  test('in the foreground completes in a cycle', async () => {
    await using server = await testServer();
    const cluster = clusterOf(server);
    await using running = cluster.start(onlyCollector);
    await running.ready;
    const one = await owned(cluster, 'one', []);
    const two = await owned(cluster, 'two', [one]);
    const ownerReferences = [
      { apiVersion: 'v1', kind: 'ConfigMap', name: 'two', uid: two.metadata.uid, blockOwnerDeletion: true },
    ];
    await cluster.user.patch(configMapKind, at('one'), { body: { metadata: { ownerReferences } } });
    await cluster.user.delete(configMapKind, at('one'), { propagationPolicy: 'Foreground' });
    await gone(cluster, 'one');
    await gone(cluster, 'two');
  });
});

test('at the start, deletes objects whose owners are gone and keeps the others', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const owner = await owned(cluster, 'owner', []);
  await owned(cluster, 'kept', [owner]);
  await owned(cluster, 'lost', [{ metadata: { name: 'never', uid: '00000000-0000-0000-0000-000000000001' } }]);
  await owned(cluster, 'renamed', [{ metadata: { name: 'owner', uid: '00000000-0000-0000-0000-000000000002' } }]);
  await using running = cluster.start(onlyCollector);
  await running.ready;
  await gone(cluster, 'lost');
  await gone(cluster, 'renamed');
  await quiet(cluster);
  assert.deepEqual(cluster.takeWrites(), ['200 DELETE configmaps/lost', '200 DELETE configmaps/renamed']);
  assert.notEqual(await find(cluster, 'kept'), undefined);
});

test('ignores an owner in another namespace and records an Event', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  await cluster.user.create(namespaceKind, { metadata: { name: 'elsewhere' }, spec: {}, status: {} });
  const owner = await owned(cluster, 'owner', [], 'elsewhere');
  await owned(cluster, 'stray', [owner]);
  await using running = cluster.start(onlyCollector);
  await running.ready;
  await gone(cluster, 'stray');
  const [event] = await until('the Event', async () => {
    const { items } = await cluster.user.list(eventKind, { fieldSelector: 'reason=OwnerRefInvalidNamespace' });
    return items.length > 0 ? items : undefined;
  });
  assert.equal(event?.involvedObject.name, 'stray');
});

test('deletes all slices of a deleted Service', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  await cluster.service('web');
  await cluster.pod('one', 'web', { ip: '10.1.0.1' });
  await using running = cluster.start();
  await running.ready;
  await until('a slice', async () => (await cluster.addresses('web')) === '10.1.0.1');
  await until('Endpoints', () => cluster.endpoints('web'));
  await cluster.user.delete(serviceKind, at('web'));
  await until('no slice', async () => (await cluster.slices('web')).length === 0);
  await until('no Endpoints', async () => (await cluster.endpoints('web')) === undefined);
});

test('keeps objects whose owner is of an unserved kind', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const ownerReferences = [{ apiVersion: 'example.org/v1', kind: 'Widget', name: 'w', uid: 'w' }];
  await cluster.user.create(configMapKind, { metadata: { ...at('kept'), ownerReferences } });
  await using running = cluster.start(onlyCollector);
  await running.ready;
  await quiet(cluster);
  assert.deepEqual(cluster.takeWrites(), []);
});
