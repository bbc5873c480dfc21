// A service concerns only clusters that have its namespace: nothing is written to others, and nothing remains there.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Registry } from 'prom-client';

import { leaseKind } from '../../src/api/kinds/coordination/lease/kind.ts';
import { namespaceKind } from '../../src/api/kinds/core/namespace/kind.ts';
import { sourceClusterLabel } from '../../src/api/kinds/multicluster/labels.ts';
import { serviceExportKind } from '../../src/api/kinds/multicluster/serviceexport/kind.ts';
import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import { Vips } from '../../src/multicluster/member/vips.ts';
import type { MemberEntry } from '../../src/multicluster/member/entry.ts';
import { until } from '../../src/server/testing/until.ts';
import type { Cluster } from './clusters.ts';
import { entryOf, join, joinSharing, startClusters } from './clusters.ts';
import { reasonOf } from './pair.ts';

async function removeNamespace({ client }: Cluster): Promise<void> {
  await client.delete(namespaceKind, { name: 'shop' });
  await until(
    'the namespace is deleted',
    async () => (await client.find(namespaceKind, { name: 'shop' })) === undefined,
  );
}

const leasesIn = async ({ client }: Cluster): Promise<string> =>
  (await client.list(leaseKind, { namespace: 'kube-system' })).items
    .flatMap(({ metadata }) => metadata.labels?.[sourceClusterLabel] ?? [])
    .toSorted()
    .join();

const servicesIn = async (metrics: Registry): Promise<unknown> =>
  (await metrics.getMetricsAsJSON()).find(({ name }) => name === 'fairlead_multicluster_services')?.values[0]?.value;

/** West imports `web` from east; north does not have its namespace. */
async function exportedInTwo(stack: AsyncDisposableStack) {
  const clusters = await startClusters(['east', 'west', 'north'], stack);
  const [east, west, north] = clusters;
  assert.ok(east && west && north);
  await removeNamespace(north);
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  const { part } = join(clusters, stack);
  await until(
    'all clusters with the namespace import it',
    async () => (await reasonOf(east, 'Exported')) === 'Exported',
  );
  return { east, west, north, part };
}

describe('a cluster without the namespace', () => {
  test('MCS-80 MCS-109 has no leases of exporting clusters until the namespace exists', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, north } = await exportedInTwo(stack);
    await until('west has a lease of east', async () => (await leasesIn(west)) === 'east,west');
    await until('north has its own lease only', async () => (await leasesIn(north)) === 'north');
    await north.namespace('shop');
    await until('north imports the service', async () => (await north.imported('web')).length === 1);
    await until('north has a lease of east', async () => (await leasesIn(north)) === 'east,north');
    await east.unexport('web');
    await until('the lease is deleted with the import', async () => (await leasesIn(north)) === 'north');
    await until('the lease of east is deleted in west', async () => (await leasesIn(west)) === 'west');
  });

  test('MCS-23 MCS-109 does not make exports incomplete when it is lost', async () => {
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
    await until('only west is reported', async () => (await exported()) === 'cannot reach west');
  });

  test('MCS-44 releases the address of a service whose namespace was deleted', async () => {
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
    await until(
      'the service has the only address',
      async () => (await west.importedService('web'))?.spec?.ip === '241.9.0.1',
    );
    await removeNamespace(west);
    await east.unexport('web');
    await until('the service is deleted', async () => (await servicesIn(metrics)) === 0);
    await west.namespace('shop');
    await east.export('other');
    await until(
      'another service has the address',
      async () => (await west.importedService('other'))?.spec?.ip === '241.9.0.1',
    );
  });

  test('MCS-44 does not keep addresses allocated while it does not answer', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west', 'north'], stack);
    const [east, west, north] = clusters;
    assert.ok(east && west && north);
    await removeNamespace(north);
    const { part, metrics } = joinSharing(clusters, new Vips(['241.9.0.1/32']), stack);
    await part.ready;
    for (const name of ['web', 'other']) await east.service(name, ['10.1.0.1']);
    await east.export('web');
    await until(
      'the service has the only address',
      async () => (await west.importedService('web'))?.spec?.ip === '241.9.0.1',
    );
    north.disconnect();
    await until('north does not answer', () => part.problems().length > 0);
    await east.unexport('web');
    await until('the service is deleted', async () => (await servicesIn(metrics)) === 0);
    await east.export('other');
    await until(
      'another service has the address',
      async () => (await west.importedService('other'))?.spec?.ip === '241.9.0.1',
    );
  });

  test('a service is deleted once no cluster has its namespace', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west'], stack);
    const [east, west] = clusters;
    assert.ok(east && west);
    const { metrics } = join(clusters, stack);
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('the export is complete', async () => (await reasonOf(east, 'Exported')) === 'Exported');
    await removeNamespace(west);
    await removeNamespace(east);
    await until('the service is deleted', async () => (await servicesIn(metrics)) === 0);
  });
});

test('a withdrawn service is deleted in a cluster whose connection was replaced meanwhile', async () => {
  await using stack = new AsyncDisposableStack();
  const clusters = await startClusters(['east', 'west'], stack);
  const [east, west] = clusters;
  assert.ok(east && west);
  const entries = clusters.map(entryOf);
  let change: (entries: readonly MemberEntry[]) => void = () => undefined;
  join(clusters, stack, {
    members: (update) => {
      change = update;
      update(entries);
    },
  });
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  await until('the export is complete', async () => (await reasonOf(east, 'Exported')) === 'Exported');
  // The old connection receives no more events, and the new one starts with the remaining objects.
  const gone = Promise.withResolvers<void>();
  east.fault = (call) => (call.method === 'GET' ? undefined : gone.promise);
  east.faultLine = () => gone.promise;
  for (const kind of [superclusterExportKind, serviceExportKind]) {
    await east.client.patch(kind, { namespace: 'shop', name: 'web' }, { body: { metadata: { finalizers: null } } });
  }
  await east.unexport('web');
  change(entries.map((entry) => ({ ...entry, version: 'new' })));
  gone.resolve();
  await until('the import is deleted', async () => (await west.importedService('web')) === undefined);
  await until('its slices are deleted', async () => (await west.imported('web')).length === 0);
});
