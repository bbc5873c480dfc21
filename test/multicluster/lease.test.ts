// Leases and the reaper: the endpoints of a lost source are deleted, and imported again when it comes back.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

import { leaseKind } from '../../src/api/kinds/coordination/lease/kind.ts';
import type { EndpointSlice } from '../../src/api/kinds/discovery/endpointslice/schema.ts';
import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import { sourceClusterLabel } from '../../src/api/kinds/multicluster/labels.ts';
import { systemClock } from '../../src/client/clock.ts';
import type { ReaperOptions } from '../../src/multicluster/reaper/reaper.ts';
import { until } from '../../src/server/testing/until.ts';
import type { Cluster } from './clusters.ts';
import { join, quickProbes, reap, startClusters } from './clusters.ts';

/** Two clusters that both export `web`, with reapers. */
async function joined(stack: AsyncDisposableStack, options: ReaperOptions = {}) {
  const [east, west] = await startClusters(['east', 'west'], stack);
  assert.ok(east && west);
  const controller = stack.use(new AsyncDisposableStack());
  const { part } = join([east, west], controller);
  for (const cluster of [east, west]) reap(cluster, stack, options);
  await part.ready;
  for (const [cluster, address] of [
    [east, '10.1.0.1'],
    [west, '10.2.0.1'],
  ] as const) {
    await cluster.service('web', [address]);
    await cluster.export('web');
  }
  const all = { east: ['10.1.0.1'], west: ['10.2.0.1'] };
  const hasAll = (cluster: Cluster) => async () => isDeepStrictEqual(await cluster.addresses('web'), all);
  for (const cluster of [east, west]) await until('the service is imported', hasAll(cluster));
  return { east, west, hasAll, controller };
}

const renewals = async (cluster: Cluster): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await cluster.client.list(leaseKind, { namespace: 'kube-system' })).items.map(({ metadata, spec }) => [
      metadata.labels?.['multicluster.kubernetes.io/source-cluster'] ?? '',
      spec.renewTime ?? '',
    ]),
  );

describe('leases', () => {
  test('MCS-80 MCS-81 every source has a lease in every cluster, renewed while it answers', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joined(stack);
    await until('each source has a lease', async () => Object.keys(await renewals(east)).length === 2);
    const before = await renewals(east);
    await until('the leases are renewed', async () => {
      const now = await renewals(east);
      return now['east'] !== before['east'] && now['west'] !== before['west'];
    });
    west.disconnect();
    const renewed = async (before: string | undefined): Promise<string | undefined> =>
      until('the lease of east is renewed', async () => {
        const now = (await renewals(east))['east'];
        return now === before ? undefined : now;
      });
    await renewed(await renewed((await renewals(east))['east'])); // what was under way is over
    const last = await renewals(east);
    await renewed(await renewed(last['east'])); // the second time all others had their turn since
    assert.equal((await renewals(east))['west'], last['west']);
  });

  test('a new controller renews existing leases before it has read any cluster', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, controller } = await joined(stack, { onControllerLoss: 'Freeze' });
    await until('each source has a lease', async () => Object.keys(await renewals(east)).length === 2);
    await controller.disposeAsync();
    const [inEast, inWest] = [await renewals(east), await renewals(west)];
    const { promise: end, resolve } = Promise.withResolvers<void>();
    for (const cluster of [east, west])
      cluster.fault = ({ path }) =>
        /(endpointslices|services|namespaces|imports|exports)$/.test(path) ? end : undefined;
    join([east, west], stack);
    stack.defer(resolve);
    await until('all leases are renewed', async () => {
      const [nowInEast, nowInWest] = [await renewals(east), await renewals(west)];
      return ['east', 'west'].every((id) => nowInEast[id] !== inEast[id] && nowInWest[id] !== inWest[id]);
    });
  });

  test('the reaper reports how far the clock of the controller is ahead of the local clock', async () => {
    await using stack = new AsyncDisposableStack();
    const { east } = await joined(stack);
    const clock = { ...systemClock, now: () => Date.now() - 60_000 };
    const metrics = reap(east, stack, { clock });
    const skews = async (): Promise<ReadonlyMap<unknown, number>> => {
      const values = (await metrics.getSingleMetric('fairlead_reaper_clock_skew_seconds')?.get())?.values ?? [];
      return new Map(values.map(({ labels, value }) => [labels['source'], value]));
    };
    await until('each source has a sample', async () => (await skews()).size === 2);
    for (const [source, seconds] of await skews()) {
      assert.ok(seconds > 57 && seconds < 60.5, `${String(source)}: ${seconds} s`);
    }
  });

  test('MCS-83 MCS-84 MCS-85 MCS-86 MCS-88 only the slices of a lost source are deleted, and they are created again', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, hasAll } = await joined(stack);
    const before = await east.importedService('web');
    west.disconnect();
    await until('the slices of the lost source are deleted', async () =>
      isDeepStrictEqual(await east.addresses('web'), { east: ['10.1.0.1'] }),
    );
    await delay(300);
    assert.deepEqual(await east.addresses('web'), { east: ['10.1.0.1'] }, 'nobody writes them back');
    const during = await east.importedService('web');
    assert.deepEqual(during?.spec, before?.spec, 'the import and its address stay');
    assert.equal((await east.conditions('web', 'supercluster'))['Exported'], 'False', 'MCS-23');
    assert.equal((await east.conditions('web', 'clusterset'))['Ready'], 'True');
    west.reconnect();
    await until('the slices are created again', hasAll(east));
    await until(
      'the export reports success',
      async () => (await east.conditions('web', 'supercluster'))['Exported'] === 'True',
    );
    assert.equal((await east.imported('web')).length, 2);
  });

  test('a service decides about endpoints of a lost cluster: kept, or used as a last resort and then deleted', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, hasAll } = await joined(stack);
    const ask = (policy: string): Promise<unknown> =>
      west.client.patch(
        superclusterExportKind,
        { namespace: 'shop', name: 'web' },
        { body: { metadata: { annotations: { 'fairlead.dev/on-source-loss': policy } } } },
      );
    const ofWest = async (): Promise<EndpointSlice | undefined> =>
      (await east.imported('web')).find(({ metadata }) => metadata.labels?.[sourceClusterLabel] === 'west');
    await ask('Keep');
    await until('the slice has the setting', async () => {
      const slice = await ofWest();
      return slice?.metadata.annotations?.['fairlead.dev/on-source-loss'] === 'Keep';
    });
    west.disconnect();
    await until(
      'the cluster is lost',
      async () => (await east.conditions('web', 'supercluster'))['Exported'] === 'False',
    );
    await delay(quickProbes.durationMs + 500);
    assert.ok(await hasAll(east)(), 'kept');
    west.reconnect();
    await ask('Demote');
    await until(
      'it is back',
      async () => (await ofWest())?.metadata.annotations?.['fairlead.dev/on-source-loss'] === undefined,
    );
    west.disconnect();
    const last = { ready: false, serving: true, terminating: true };
    await until('the endpoints are a last resort', async () =>
      isDeepStrictEqual((await ofWest())?.endpoints?.[0]?.conditions, last),
    );
    await until('the slice is deleted', async () => (await ofWest()) === undefined);
    west.reconnect();
    await until('the slice is restored', async () => (await ofWest())?.endpoints?.[0]?.conditions.ready === true);
  });

  test('a lost controller causes deletion of slices of other clusters only', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, controller } = await joined(stack);
    await controller.disposeAsync();
    await until('east keeps its own slices', async () =>
      isDeepStrictEqual(await east.addresses('web'), { east: ['10.1.0.1'] }),
    );
    await until('west keeps its own slices', async () =>
      isDeepStrictEqual(await west.addresses('web'), { west: ['10.2.0.1'] }),
    );
    assert.ok(await east.importedService('web'));
  });

  test('a lost controller causes no deletion if the reaper freezes', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, hasAll, controller } = await joined(stack, { onControllerLoss: 'Freeze' });
    await controller.disposeAsync();
    await delay(1800);
    assert.ok(await hasAll(east)());
  });
});
