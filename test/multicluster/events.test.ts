// Events of exports, as `kubectl describe serviceexport` prints them.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { eventKind } from '../../src/api/kinds/core/event/kind.ts';
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import { serviceExportKind } from '../../src/api/kinds/multicluster/serviceexport/kind.ts';
import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import { failure } from '../../src/api/errors.ts';
import { until } from '../../src/server/testing/until.ts';
import type { Cluster } from './clusters.ts';
import { entryOf, join, startClusters } from './clusters.ts';

/** Whether the exports of both groups in a cluster have an Event with this reason. */
async function hasEvent(cluster: Cluster, reason: string): Promise<boolean> {
  const { items } = await cluster.client.list(eventKind, { namespace: 'shop' });
  const found = items.filter((event) => event.involvedObject.kind === 'ServiceExport' && event.reason === reason);
  const groups = new Set(found.map(({ involvedObject }) => involvedObject.apiVersion));
  return groups.has('multicluster.k8s.io/v1alpha1') && groups.has('multicluster.x-k8s.io/v1beta1');
}

test('MCS-137 exports of both groups get Events about their state', async () => {
  await using stack = new AsyncDisposableStack();
  const [east, west] = await startClusters(['east', 'west'], stack);
  assert.ok(east && west);
  await join([east, west], stack).part.ready;
  await east.export('web');
  await until('an Event reports the missing Service', () => hasEvent(east, 'NoService'));
  await east.service('web', ['10.1.0.1', '0.1.2.3']);
  await until('an Event reports success', () => hasEvent(east, 'Exported'));
  await until('an Event reports the dropped endpoint', () => hasEvent(east, 'EndpointsDropped'));
  await west.service('web', ['10.2.0.1'], { ports: [{ name: 'http', port: 81, protocol: 'TCP' }] });
  await west.export('web');
  for (const cluster of [east, west]) await until('conflict', () => hasEvent(cluster, 'Conflict'));
  const { items } = await west.client.list(eventKind, { namespace: 'shop' });
  const [conflict] = items.filter(({ reason }) => reason === 'Conflict');
  assert.match(conflict?.message ?? '', /port.*80\b.* in east, .*81\b.* in west/);
  await west.client.patch(
    serviceKind,
    { namespace: 'shop', name: 'web' },
    { body: { spec: { ports: [{ name: 'http', port: 80 }] } } },
  );
  await until('an Event reports the resolved conflict', () => hasEvent(west, 'ConflictResolved'));
});

test('an export that came first and is created again causes no Event about a resolved conflict', async () => {
  await using stack = new AsyncDisposableStack();
  const [east, west] = await startClusters(['east', 'west'], stack);
  assert.ok(east && west);
  await join([east, west], stack).part.ready;
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  await until('the export succeeded', () => hasEvent(east, 'Exported'));
  await west.service('web', ['10.2.0.1'], { ports: [{ name: 'http', port: 81, protocol: 'TCP' }] });
  await west.export('web');
  await until('the conflict is reported', () => hasEvent(west, 'Conflict'));
  const conflict = async (): Promise<string | undefined> =>
    (await west.client.get(serviceExportKind, { namespace: 'shop', name: 'web' })).status?.conditions?.find(
      ({ type }) => type === 'Conflict',
    )?.status;
  await east.unexport('web');
  await until('the conflict is resolved', async () => (await conflict()) === 'False');
  const web = { namespace: 'shop', name: 'web' };
  for (const kind of [superclusterExportKind, serviceExportKind])
    await until('the export is deleted', async () => (await east.client.find(kind, web)) === undefined);
  await east.export('web');
  await until('the conflict is reported again', async () => (await conflict()) === 'True');
  await east.unexport('web');
  await until('an Event reports the resolved conflict', () => hasEvent(west, 'ConflictResolved'));
  const { items } = await west.client.list(eventKind, { namespace: 'shop' });
  for (const apiVersion of ['multicluster.k8s.io/v1alpha1', 'multicluster.x-k8s.io/v1beta1']) {
    const resolved = items.filter(
      (each) => each.reason === 'ConflictResolved' && each.involvedObject.apiVersion === apiVersion,
    );
    assert.deepEqual(
      resolved.map(({ count }) => count),
      [1],
      apiVersion,
    );
  }
});

test('MCS-23 exports get Events about a cluster that does not import them, and about a lost one', async () => {
  await using stack = new AsyncDisposableStack();
  const [east, west] = await startClusters(['east', 'west'], stack);
  assert.ok(east && west);
  await join([east, west], stack).part.ready;
  west.fault = ({ method, path }) => {
    if (method !== 'GET' && path.includes('/serviceimports'))
      throw failure({ code: 403, reason: 'Forbidden', message: 'no way' });
  };
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  await until('an Event names west as lagging', () => hasEvent(east, 'ClusterLagging'));
  const { items } = await east.client.list(eventKind, { namespace: 'shop' });
  assert.match(
    items.find(({ reason }) => reason === 'ClusterLagging')?.message ?? '',
    /west rejects the import: no way/,
  );
  west.reconnect();
  await until('the export succeeded', () => hasEvent(east, 'Exported'));
  west.disconnect();
  await until('an Event names west as unreachable', () => hasEvent(east, 'ClusterUnreachable'));
});

test('exports get Events about rejections', async () => {
  await using stack = new AsyncDisposableStack();
  const [east, west] = await startClusters(['east', 'west'], stack);
  assert.ok(east && west);
  const entries = [
    { ...entryOf(east, 0), policy: { namespaces: ['payments'] } },
    { ...entryOf(west, 1), policy: { maxExports: 0 } },
  ];
  await join([east, west], stack, { members: (change) => change(entries) }).part.ready;
  for (const cluster of [east, west]) {
    await cluster.service('web', ['10.1.0.1']);
    await cluster.export('web');
  }
  await until('the namespace is rejected for east', () => hasEvent(east, 'NamespaceNotAllowed'));
  await until('the quota of west is exceeded', () => hasEvent(west, 'QuotaExceeded'));
});
