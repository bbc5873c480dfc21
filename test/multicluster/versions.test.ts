// Clusters that serve an older version of the clusterset API, or change the version.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { failure } from '../../src/api/errors.ts';
import { eventKind } from '../../src/api/kinds/core/event/kind.ts';
import { ManualClock } from '../../src/client/testing/clocks.ts';
import { MemberCaches } from '../../src/multicluster/member/caches.ts';
import { defaultMemberLimit } from '../../src/multicluster/member/options.ts';
import { SharedEndpoints } from '../../src/multicluster/member/shared-endpoints.ts';
import { until } from '../../src/server/testing/until.ts';
import type { Cluster } from './clusters.ts';
import { join, startClusters } from './clusters.ts';

/** From now on the server of a cluster answers 404 under these paths. */
function lacks(cluster: Cluster, ...paths: readonly string[]): void {
  cluster.fault = ({ path }) => {
    if (paths.some((prefix) => path.startsWith(prefix)))
      throw failure({ code: 404, reason: 'NotFound', message: 'the server could not find the requested resource' });
  };
}

const [supercluster, alpha, beta] = [
  '/apis/multicluster.k8s.io',
  '/apis/multicluster.x-k8s.io/v1alpha1',
  '/apis/multicluster.x-k8s.io/v1beta1',
];

test('a cluster that serves only v1alpha1 exports and imports in that version', async () => {
  await using stack = new AsyncDisposableStack();
  const [east, old] = await startClusters(['east', 'old'], stack);
  assert.ok(east && old);
  lacks(old, supercluster, beta);
  const { part } = join([east, old], stack);
  await part.ready;
  await old.service('web', ['10.2.0.1']);
  await old.export('web', ['clusterset']);
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  for (const cluster of [east, old]) {
    await until(
      `${cluster.id} imports from both`,
      async () => Object.keys(await cluster.addresses('web')).length === 2,
    );
    await until('its import is ready', async () => (await cluster.conditions('web', 'clusterset'))['Ready'] === 'True');
  }
  assert.deepEqual((await old.serviceImport('web'))?.status?.clusters?.length, 2);
  const owners = (await old.imported('web')).flatMap(({ metadata }) => metadata.ownerReferences ?? []);
  assert.deepEqual([...new Set(owners.map(({ apiVersion }) => apiVersion))], ['multicluster.x-k8s.io/v1alpha1']);
  await until('Events refer to the served version of the export', async () => {
    const { items } = await old.client.list(eventKind, { namespace: 'shop' });
    const versions = new Set(items.map(({ involvedObject }) => involvedObject.apiVersion));
    return versions.size === 1 && versions.has('multicluster.x-k8s.io/v1alpha1');
  });
  assert.deepEqual(part.problems(), []);
  await Promise.all([old.unexport('web'), east.unexport('web')]);
  await until('the import is deleted', async () => (await old.serviceImport('web')) === undefined);
  await until('its slices are deleted', async () => (await old.imported('web')).length === 0);
});

test('uses another version once the cluster serves it', async () => {
  await using stack = new AsyncDisposableStack();
  const [east] = await startClusters(['east'], stack);
  assert.ok(east);
  lacks(east, beta);
  const clock = new ManualClock();
  const added: string[] = [];
  const nothing = (): void => undefined;
  const endpoints = new SharedEndpoints();
  const caches = new MemberCaches({
    client: east.connect(),
    clock,
    endpoints,
    limit: defaultMemberLimit,
    log: { debug: nothing, warn: nothing },
    onChange: nothing,
  });
  caches.serviceExports.subscribe({ added: ({ metadata }) => added.push(metadata.name ?? '') });
  const stop = new AbortController();
  const running = caches.run(stop.signal);
  stack.defer(async () => {
    stop.abort();
    await running;
  });
  await east.export('web');
  await until('the cluster is read', () => caches.isSynced && added.length === 1);
  assert.equal(caches.clustersetKinds.version, 'v1alpha1');
  lacks(east, alpha);
  east.breakConnections();
  await until('the served version is used', async () => {
    await clock.advance(10_000);
    return caches.clustersetKinds.version === 'v1beta1';
  });
  await east.export('cart');
  await until('the new export is read', () => added.length === 2);
  assert.deepEqual(added, ['web', 'cart'], 'nothing is delivered twice');
  lacks(east, alpha, beta);
  await clock.advance(30_000);
  assert.equal(caches.serviceExports.list().length, 2, 'definitions that are gone say nothing of exports');
});
