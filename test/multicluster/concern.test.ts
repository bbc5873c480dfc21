// A service concerns the clusters that have its namespace: the others are left alone, and nothing is left behind there.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Registry } from 'prom-client';

import { leaseKind } from '../../src/api/kinds/coordination/lease/kind.ts';
import { namespaceKind } from '../../src/api/kinds/core/namespace/kind.ts';
import { sourceClusterLabel } from '../../src/api/kinds/multicluster/labels.ts';
import { serviceExportKind } from '../../src/api/kinds/multicluster/serviceexport/kind.ts';
import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import { Vips } from '../../src/multicluster/member/vips.ts';
import type { MemberEntry } from '../../src/multicluster/multicluster.ts';
import { until } from '../../src/server/testing/until.ts';
import type { Cluster } from './clusters.ts';
import { entryOf, join, joinSharing, startClusters } from './clusters.ts';
import { reasonOf } from './pair.ts';

async function removeNamespace({ client }: Cluster): Promise<void> {
  await client.delete(namespaceKind, { name: 'shop' });
  await until('the namespace is gone', async () => (await client.find(namespaceKind, { name: 'shop' })) === undefined);
}

const leasesIn = async ({ client }: Cluster): Promise<string> =>
  (await client.list(leaseKind, { namespace: 'kube-system' })).items
    .flatMap(({ metadata }) => metadata.labels?.[sourceClusterLabel] ?? [])
    .toSorted()
    .join();

const servicesIn = async (metrics: Registry): Promise<unknown> =>
  (await metrics.getMetricsAsJSON()).find(({ name }) => name === 'fairlead_multicluster_services')?.values[0]?.value;

/** `web` of east is in west, and north has no namespace for it. */
async function exportedInTwo(stack: AsyncDisposableStack) {
  const clusters = await startClusters(['east', 'west', 'north'], stack);
  const [east, west, north] = clusters;
  assert.ok(east && west && north);
  await removeNamespace(north);
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  const { part } = join(clusters, stack);
  await until('all have it that can', async () => (await reasonOf(east, 'Exported')) === 'Exported');
  return { east, west, north, part };
}

describe('a cluster without the namespace', () => {
  test('MCS-80 MCS-109 has no lease of those who export there, until it has it', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, north } = await exportedInTwo(stack);
    await until('a lease stands for it', async () => (await leasesIn(west)) === 'east,west');
    await until('north has its own', async () => (await leasesIn(north)) === 'north');
    await north.namespace('shop');
    await until('it follows', async () => (await north.imported('web')).length === 1);
    await until('with its lease', async () => (await leasesIn(north)) === 'east,north');
    await east.unexport('web');
    await until('which goes with what it stood for', async () => (await leasesIn(north)) === 'north');
    await until('elsewhere too', async () => (await leasesIn(west)) === 'west');
  });

  test('MCS-23 MCS-109 is no reason to say that a service is not everywhere when it is lost', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, north, part } = await exportedInTwo(stack);
    for (const cluster of [north, west]) {
      cluster.disconnect();
      await until(`${cluster.id} is missed`, () => part.problems().some((problem) => problem.includes(cluster.id)));
    }
    const exported = async (): Promise<string | undefined> =>
      (await east.client.get(superclusterExportKind, { namespace: 'shop', name: 'web' })).status?.conditions?.find(
        ({ type }) => type === 'Exported',
      )?.message;
    await until('west alone is missed', async () => (await exported()) === 'cannot reach west');
  });

  test('MCS-44 gives the address back that a service had there before the namespace went', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west'], stack);
    const [east, west] = clusters;
    assert.ok(east && west);
    const vips = new Vips(['241.9.0.1/32']);
    const entries: readonly MemberEntry[] = clusters.map((cluster, index) => ({
      ...entryOf(cluster, index),
      ...(cluster === west && { vips }),
    }));
    const { metrics } = join(clusters, stack, { members: (change) => change(entries) });
    for (const name of ['web', 'other']) await east.service(name, ['10.1.0.1']);
    await east.export('web');
    await until('it has the only one', async () => (await west.importedService('web'))?.spec?.ip === '241.9.0.1');
    await removeNamespace(west);
    await east.unexport('web');
    await until('the service is forgotten', async () => (await servicesIn(metrics)) === 0);
    await west.namespace('shop');
    await east.export('other');
    await until('another has it', async () => (await west.importedService('other'))?.spec?.ip === '241.9.0.1');
  });

  test('MCS-44 keeps no address from others while it is away', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west', 'north'], stack);
    const [east, west, north] = clusters;
    assert.ok(east && west && north);
    await removeNamespace(north);
    const { part, metrics } = joinSharing(clusters, new Vips(['241.9.0.1/32']), stack);
    await part.ready;
    for (const name of ['web', 'other']) await east.service(name, ['10.1.0.1']);
    await east.export('web');
    await until('it has the only one', async () => (await west.importedService('web'))?.spec?.ip === '241.9.0.1');
    north.disconnect();
    await until('north is away', () => part.problems().length > 0);
    await east.unexport('web');
    await until('the service is forgotten', async () => (await servicesIn(metrics)) === 0);
    await east.export('other');
    await until('another has it', async () => (await west.importedService('other'))?.spec?.ip === '241.9.0.1');
  });

  test('a service is forgotten where nobody has its namespace any more', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west'], stack);
    const [east, west] = clusters;
    assert.ok(east && west);
    const { metrics } = join(clusters, stack);
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('it is complete', async () => (await reasonOf(east, 'Exported')) === 'Exported');
    await removeNamespace(west);
    await removeNamespace(east);
    await until('the service is forgotten', async () => (await servicesIn(metrics)) === 0);
  });
});

test('what a cluster no longer exports goes, though its connection was replaced meanwhile', async () => {
  await using stack = new AsyncDisposableStack();
  const clusters = await startClusters(['east', 'west'], stack);
  const [east, west] = clusters;
  assert.ok(east && west);
  const entries = clusters.map(entryOf);
  let change: (entries: readonly MemberEntry[]) => void = () => undefined;
  join(clusters, stack, {
    members: (tell) => {
      change = tell;
      tell(entries);
    },
  });
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  await until('it is complete', async () => (await reasonOf(east, 'Exported')) === 'Exported');
  // The old connection hears nothing any more, and the new one begins with what is left.
  const gone = Promise.withResolvers<void>();
  east.fault = (call) => (call.method === 'GET' ? undefined : gone.promise);
  east.faultLine = () => gone.promise;
  for (const kind of [superclusterExportKind, serviceExportKind]) {
    await east.client.patch(kind, { namespace: 'shop', name: 'web' }, { body: { metadata: { finalizers: null } } });
  }
  await east.unexport('web');
  change(entries.map((entry) => ({ ...entry, version: 'new' })));
  gone.resolve();
  await until('it is gone', async () => (await west.importedService('web')) === undefined);
  await until('with its slices', async () => (await west.imported('web')).length === 0);
});
